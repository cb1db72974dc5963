-- Drop jobs whose records are not kept any longer.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM jobs
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1))
