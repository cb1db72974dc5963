-- Live sessions whose deadline is past, or too far away to be true.
-- In: 1 now. Out: one row, JSON [[session, beat, worker], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(session, beat, worker)) FROM sessions INDEXED BY sessions_live
WHERE ended IS NULL AND (deadline < ?1 OR deadline > ?1 + 2 * ttl)
