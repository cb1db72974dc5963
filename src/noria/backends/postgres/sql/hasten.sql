-- Have the commit of this transaction not wait for the disk: with a crash of the server it may be forgotten as a whole.
-- In: nothing. Out: nothing.
-- Locks: nothing.
-- Safe to repeat: yes.
SET LOCAL synchronous_commit = off
