-- Forget sessions that ended long ago; settles of an unknown session are refused as those of an ended one.
-- In: 1 ended before this time. Out: nothing.
-- Locks: the sessions.
-- Safe to repeat: yes.
DELETE FROM noria.sessions
WHERE ended IS NOT NULL AND ended <= $1::bigint AND NOT owing
