-- Move a session's deadline, unless it has ended.
-- In: 1 session; 2 now; 3 JSON of its vitals. Out: nothing; `changes` is 0 if it has ended or never was.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE sessions
SET beat = beat + 1, deadline = ?2 + ttl, seen = ?2, vitals = ?3
WHERE session = ?1 AND ended IS NULL
