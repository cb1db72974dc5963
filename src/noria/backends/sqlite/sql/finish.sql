-- End jobs that are not running: expired, given up or cancelled.
-- In: 1 JSON [[id as hex, state, dead, prune_at, failure, fingerprint, change], …]; 2 now. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE jobs
SET state = e.value ->> 1, dead = e.value ->> 2, prune_at = e.value ->> 3, failure = e.value ->> 4,
    fingerprint = e.value ->> 5, change = coalesce(e.value ->> 6, change), finished = ?2, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (1, 2, 4, 6, 7)
