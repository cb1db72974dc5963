-- The time of the server, by which all due times and deadlines are judged.
-- In: nothing. Out: one row (milliseconds since the epoch).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
