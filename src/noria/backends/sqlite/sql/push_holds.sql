-- Say of jobs that were just stored for how long they hold their unique keys.
-- In: 1 JSON [[id as hex, unique_key or null if it is there already, hold], …] (see 0003_flow.sql). Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET unique_key = coalesce(e.value ->> 1, unique_key), hold = e.value ->> 2
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0)
