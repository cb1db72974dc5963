-- Mark jobs that others wait for.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs SET awaited = 1 WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1))
