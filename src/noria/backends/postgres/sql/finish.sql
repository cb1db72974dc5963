-- End jobs that are not running: expired, given up or cancelled. unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, state, dead, prune_at, failure, fingerprint, change], …]; 2 now. Out: nothing.
-- Locks: the jobs, as whoever looked at them has before.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE noria.jobs AS j
SET state = (v ->> 1)::smallint, dead = (v ->> 2)::boolean, prune_at = (v ->> 3)::bigint, failure = v ->> 4,
    fingerprint = v ->> 5, change = coalesce(v ->> 6, change), finished = $2::bigint, lapse = NULL, live_key = CASE WHEN hold > 0 THEN live_key END,
    version = version + 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (1, 2, 4, 6, 7)
