-- Begin a read transaction: all reads until its end see one moment.
-- In: nothing. Out: nothing.
-- Locks: nobody.
-- Safe to repeat: after a commit or rollback.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
