-- Set what resources there are.
-- In: 1 JSON [[name, need as JSON text], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; what a rate owes stays.
INSERT INTO resources (name, need, tat)
SELECT value ->> 0, value ->> 1, 0.0 FROM jsonb_each(?1)
WHERE true
ON CONFLICT (name) DO UPDATE SET need = excluded.need
