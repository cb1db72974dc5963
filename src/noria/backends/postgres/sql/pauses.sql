-- Queues that are paused now.
-- In: 1 now. Out: one row, JSON [[queue, reason, by whom, since, until or null], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, reason, by, since, until)), '[]') FROM noria.pauses
WHERE until IS NULL OR until > $1::bigint
