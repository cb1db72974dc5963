-- Forget the limits of a queue that has none.
-- In: 1 queue. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM limits
WHERE queue = ?1 AND newest = 0 AND coalesce(ageing, max_age, max_length, concurrency, high_water) IS NULL
