-- Have groups looked at once this transaction, which is a caller's own and may last, has been committed.
-- In: 1 JSON [[id of a job as hex, family, key], …]. Out: nothing.
-- Locks: the new rows.
-- Safe to repeat: yes.
INSERT INTO noria.coming (id, family, group_key)
SELECT (v ->> 0)::uuid, v ->> 1, v ->> 2 FROM jsonb_array_elements($1::jsonb) AS e (v)
ON CONFLICT DO NOTHING
