-- Forget groups that are not in use.
-- In: 1 JSON [[family, key], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM groups
WHERE (family, group_key) IN (SELECT value ->> 0, value ->> 1 FROM jsonb_each(?1))
