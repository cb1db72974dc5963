-- Drop what starts of jobs have marked.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM marks
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1))
