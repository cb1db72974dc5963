-- How many jobs are in each state, all queues together.
-- In: nothing. Out: one row, JSON [[state, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(state, n)) FROM (SELECT state, sum(n) AS n FROM counts GROUP BY state)
