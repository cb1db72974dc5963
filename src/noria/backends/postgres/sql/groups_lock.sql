-- Have others wait who hand over places of these groups, until this transaction has ended. One that is in no use gets a
-- row, which groups_drop.sql takes away again.
-- In: 1 JSON [[family, key], …], each group once. Out: nothing.
-- Locks: the groups, in the order of their names. The condition changes none of them; they are locked before it is asked.
-- Safe to repeat: yes.
INSERT INTO noria.groups AS g (family, group_key)
SELECT v ->> 0, v ->> 1 FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY (v ->> 0) COLLATE "C", (v ->> 1) COLLATE "C"
ON CONFLICT (family, group_key) DO UPDATE SET taken = g.taken WHERE false
