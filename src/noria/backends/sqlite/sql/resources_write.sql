-- Set what resources there are.
-- In: 1 JSON [[name, need as JSON text, what its rate may owe at most], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; what a rate owes stays, as far as the new one can owe it.
INSERT INTO resources (name, need, tat)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?1)
WHERE true
ON CONFLICT (name) DO UPDATE SET need = excluded.need, tat = min(resources.tat, excluded.tat)
