-- Undo a transaction.
-- In: nothing. Out: nothing.
-- Locks: releases all.
-- Safe to repeat: yes.
ROLLBACK
