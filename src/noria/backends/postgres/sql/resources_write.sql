-- Set what resources there are.
-- In: 1 JSON [[name, need as JSON text], …]. Out: nothing.
-- Locks: the resources, in the order of their names.
-- Safe to repeat: yes; what a rate owes stays.
INSERT INTO noria.resources (name, need)
SELECT v ->> 0, v ->> 1 FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY (v ->> 0) COLLATE "C"
ON CONFLICT (name) DO UPDATE SET need = excluded.need
