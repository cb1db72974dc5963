-- Ended sessions that still hold jobs.
-- In: nothing. Out: one row, JSON [session, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(session) FROM sessions INDEXED BY sessions_owing
WHERE owing = 1
