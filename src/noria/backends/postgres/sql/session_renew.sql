-- Move a session's deadline, unless it has ended.
-- In: 1 session; 2 now; 3 JSON of its vitals. Out: nothing; the number of rows is 0 if it has ended or never was.
-- Locks: the session.
-- Safe to repeat: yes.
UPDATE noria.sessions
SET beat = beat + 1, deadline = $2::bigint + ttl, seen = $2::bigint, vitals = $3::text
WHERE session = $1::bigint AND ended IS NULL
