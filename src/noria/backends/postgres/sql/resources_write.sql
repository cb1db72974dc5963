-- Set what resources there are.
-- In: 1 JSON [[name, need as JSON text, what its rate may owe at most], …]. Out: nothing.
-- Locks: the resources, in the order of their names.
-- Safe to repeat: yes; what a rate owes stays, as far as the new one can owe it.
INSERT INTO noria.resources (name, need, tat)
SELECT v ->> 0, v ->> 1, (v ->> 2)::float8 FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY (v ->> 0) COLLATE "C"
ON CONFLICT (name) DO UPDATE SET need = excluded.need, tat = LEAST(resources.tat, excluded.tat)
