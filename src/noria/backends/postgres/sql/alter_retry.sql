-- Queue ended jobs again, as if they were new: fresh attempts, no time bounds but those of their queue. The log of their starts stays.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, rank, lapse], …]; 2 state: queued or scheduled; 3 due; 4 attempts, or null to leave their number;
--     5 JSON of the change.
-- Out: nothing. If a key was taken meanwhile it fails as a whole, and the transaction is tried again.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that has not ended is left alone.
UPDATE noria.jobs AS j
SET state = $2::smallint, rank = (v ->> 1)::bigint, turn = (v ->> 1)::bigint, placed = false, due = $3::bigint, attempts = coalesce($4::bigint, attempts),
    change = $5::text, dead = false, inbox = NULL, spent = 0, crashes = 0, releases = 0, snoozes = 0, expires = NULL,
    deadline = NULL, lapse = (v ->> 2)::bigint, finished = NULL, prune_at = NULL, failure = NULL, fingerprint = NULL, pending = 0,
    result = NULL, result_bytes = NULL, result_codec = NULL, version = version + 1,
    live_key = CASE WHEN hold IS NULL OR hold = 0 AND starts = 0 THEN unique_key ELSE live_key END
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (11, 12, 13)
