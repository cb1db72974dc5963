-- The limits of all queues that have any.
-- In: nothing. Out: one row, JSON [Bounds, …] (see bounds.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, newest, ageing, max_age, max_length, concurrency, high_water)), '[]')
FROM noria.limits
