-- How many deleted rows of jobs that might run are still in the way, as far as the server knows.
-- In: nothing. Out: one row (how many).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT pg_stat_get_dead_tuples('noria.ready'::regclass)
