-- How a session ended.
-- In: 1 session. Out: no row, or one (1 if it has ended, crashed, released, started, evidence, worker).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (ended IS NOT NULL)::integer, crashed, released, started, evidence, worker
FROM noria.sessions
WHERE session = $1::bigint
