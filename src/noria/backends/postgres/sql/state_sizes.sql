-- How many jobs are in each state, all queues together.
-- In: nothing. Out: one row, JSON [[state, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(state, n)), '[]') FROM (
    SELECT state, sum(n)::bigint AS n FROM noria.counts GROUP BY state
) AS sizes
