-- Ended sessions that still hold jobs.
-- In: nothing. Out: one row, JSON [session, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(session), '[]') FROM noria.sessions
WHERE owing
