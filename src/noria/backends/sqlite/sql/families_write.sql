-- Set the rules of families, and have their groups looked at by the next sweeps.
-- In: 1 JSON [[family, rule as JSON text], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
INSERT INTO families (family, rule)
SELECT value ->> 0, value ->> 1 FROM jsonb_each(?1)
WHERE true
ON CONFLICT (family) DO UPDATE SET rule = excluded.rule
