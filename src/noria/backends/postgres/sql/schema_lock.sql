-- Let one process at a time change the schema of a namespace; the lock ends with the transaction.
-- In: nothing. Out: one row (nothing).
-- Locks: the advisory lock of this namespace.
-- Safe to repeat: yes.
SELECT pg_advisory_xact_lock(hashtextextended('noria.meta', 7239))
