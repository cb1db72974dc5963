-- Forget ends of which everybody was told.
-- In: nothing. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM ended_parents
WHERE NOT EXISTS (SELECT 1 FROM awaits AS a WHERE a.parent = ended_parents.parent)
