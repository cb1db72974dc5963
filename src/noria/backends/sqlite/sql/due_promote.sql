-- Make jobs ready whose time has come; their rank was fixed when their due time was.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET state = 2, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state IN (1, 6)
