-- What is asked of a session.
-- In: 1 session. Out: one row (how it is to be, or null, JSON [[id as hex, starts, why], …] of starts to be cancelled).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (SELECT command FROM sessions WHERE session = ?1), json_group_array(json_array(hex(id), starts, coalesce(change ->> 'note', ''))) FROM jobs INDEXED BY cancels
WHERE session = ?1 AND cancelling = 1 AND +state = 3
