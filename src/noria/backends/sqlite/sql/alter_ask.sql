-- Ask for the cancellation of running jobs.
-- In: 1 JSON [id as hex, …]; 2 JSON of the change. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET cancelling = 1, change = ?2, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state = 3 AND cancelling = 0
