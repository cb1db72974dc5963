-- Queue ended jobs again, as if they were new: fresh attempts, no time bounds but those of their queue. The log of their starts stays.
-- In: 1 JSON [[id as hex, rank, lapse], …]; 2 state: queued or scheduled; 3 due; 4 attempts, or null to leave their number;
--     5 JSON of the change.
-- Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that has not ended is left alone.
UPDATE jobs
SET state = ?2, rank = e.value ->> 1, turn = e.value ->> 1, placed = 0, due = ?3, attempts = coalesce(?4, attempts), change = ?5, dead = 0,
    cancelling = 0, spent = 0, crashes = 0, releases = 0, snoozes = 0, expires = NULL, deadline = NULL, lapse = e.value ->> 2,
    finished = NULL, prune_at = NULL, failure = NULL, fingerprint = NULL, pending = 0, result = NULL, result_codec = NULL,
    version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (11, 12, 13)
