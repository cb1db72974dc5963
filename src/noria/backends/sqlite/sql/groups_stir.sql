-- Have all groups of families looked at by the next sweeps.
-- In: 1 JSON [family, …]; 2 now. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE groups
SET wake = ?2
WHERE family IN (SELECT value FROM jsonb_each(?1))
