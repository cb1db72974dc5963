-- Begin a write transaction.
-- In: nothing. Out: nothing.
-- Locks: the database against other writers until commit or rollback; readers go on. Callers hold the gate before.
-- Safe to repeat: after a rollback.
BEGIN IMMEDIATE
