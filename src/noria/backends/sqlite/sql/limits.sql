-- The limits of all queues that have any.
-- In: nothing. Out: one row, JSON [Bounds, …] (see bounds.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(queue, newest, ageing, max_age, max_length, concurrency, json(high_water))) FROM limits
