-- Begin a write transaction: each statement sees what was committed before it.
-- In: nothing. Out: nothing.
-- Locks: nothing yet.
-- Safe to repeat: after a rollback.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE
