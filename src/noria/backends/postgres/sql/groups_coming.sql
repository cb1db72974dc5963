-- Have groups looked at once this transaction, which is a caller's own and may last, has been committed.
-- In: 1 JSON [[family, key, how many more places are taken, how many more of their jobs are eligible], …]. Out: nothing.
-- Locks: the new rows.
-- Safe to repeat: no, the differences would count twice; what is not committed counts never.
INSERT INTO noria.coming (family, group_key, taken, ready)
SELECT v ->> 0, v ->> 1, (v ->> 2)::integer, (v ->> 3)::integer FROM jsonb_array_elements($1::jsonb) AS e (v)
