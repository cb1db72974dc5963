-- Set the rules of families, and have their groups looked at by the next sweeps.
-- In: 1 JSON [[family, rule as JSON text], …]. Out: nothing.
-- Locks: the families, in the order of their names.
-- Safe to repeat: yes.
INSERT INTO noria.families (family, rule)
SELECT v ->> 0, v ->> 1 FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY (v ->> 0) COLLATE "C"
ON CONFLICT (family) DO UPDATE SET rule = excluded.rule
