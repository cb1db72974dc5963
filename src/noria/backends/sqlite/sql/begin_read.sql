-- Begin a read transaction: all reads until its end see one moment.
-- In: nothing. Out: nothing.
-- Locks: nobody; it only keeps the log from being recycled.
-- Safe to repeat: after commit or rollback.
BEGIN DEFERRED
