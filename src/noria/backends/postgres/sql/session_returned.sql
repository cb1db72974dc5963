-- Note that an ended session holds nothing more.
-- In: 1 session. Out: nothing.
-- Locks: the session.
-- Safe to repeat: yes.
UPDATE noria.sessions
SET owing = false
WHERE session = $1::bigint AND NOT EXISTS (SELECT 1 FROM noria.held WHERE held.session = $1::bigint)
