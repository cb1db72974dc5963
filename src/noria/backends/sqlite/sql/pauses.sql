-- Queues that are paused now.
-- In: 1 now. Out: one row, JSON [[queue, reason, by whom, since, until or null], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(queue, reason, by, since, until)) FROM pauses
WHERE until IS NULL OR until > ?1
