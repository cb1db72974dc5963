-- Starts of a session whose cancellation was asked for.
-- In: 1 session. Out: one row, JSON [[id as hex, starts], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(hex(id), starts)) FROM jobs INDEXED BY cancels
WHERE session = ?1 AND cancelling = 1 AND +state = 3
