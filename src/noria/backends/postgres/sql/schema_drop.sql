-- Drop the schema of a namespace with all that it holds, for whoever made it for a moment.
-- In: nothing. Out: nothing.
-- Locks: all of its tables.
-- Safe to repeat: yes.
DROP SCHEMA IF EXISTS "noria" CASCADE
