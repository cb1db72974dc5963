-- Have the outcome of jobs that have not ended told to a reply channel; the last one who asks is told.
-- In: 1 JSON [id as hex, …]; 2 channel. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET reply = ?2
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state < 10 AND reply IS NOT ?2
