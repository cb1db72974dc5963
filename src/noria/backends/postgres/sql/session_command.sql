-- Say how a worker is to be.
-- In: 1 session; 2 'quiet', 'stop', or null for as it likes.
-- Out: nothing; the number of rows is 0 if it has ended or never was.
-- Locks: the session.
-- Safe to repeat: yes.
UPDATE noria.sessions
SET command = $2::text
WHERE session = $1::bigint AND ended IS NULL
