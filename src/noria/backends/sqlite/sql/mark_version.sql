-- Note the version of the schema; 0 stands for it.
-- In: nothing. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
PRAGMA user_version = 0
