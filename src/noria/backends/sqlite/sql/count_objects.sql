-- How many tables and indexes a file has, to tell a new file from one that belongs to another program.
-- In: nothing. Out: one row (n).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT count(*) FROM sqlite_schema
