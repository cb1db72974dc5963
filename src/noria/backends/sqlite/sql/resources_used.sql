-- How many jobs run, by what they need.
-- In: nothing. Out: one row, JSON [[gate, n], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(gate, n)) FROM (
    SELECT gate, count(*) AS n FROM jobs INDEXED BY bound_running
    WHERE state = 3 AND gate > ''
    GROUP BY gate
)
