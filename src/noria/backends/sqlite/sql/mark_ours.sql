-- Note that a file is ours; 0 stands for our mark.
-- In: nothing. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
PRAGMA application_id = 0
