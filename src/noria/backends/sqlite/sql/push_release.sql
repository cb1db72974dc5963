-- Have jobs hold their unique keys no more.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET hold = -1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1))
