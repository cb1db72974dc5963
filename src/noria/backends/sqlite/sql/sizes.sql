-- How many jobs these queues have in each state, before what this transaction has done.
-- In: 1 JSON [queue, …]. Out: one row, JSON [[queue, state, n], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(queue, state, n)) FROM counts
WHERE queue IN (SELECT value FROM jsonb_each(?1)) AND state > 0
