-- Forget the limits of a queue that has none.
-- In: 1 queue. Out: nothing.
-- Locks: the limits of the queue.
-- Safe to repeat: yes.
DELETE FROM noria.limits
WHERE queue = $1::text AND newest = 0 AND coalesce(ageing, max_age, max_length, concurrency) IS NULL AND high_water IS NULL
