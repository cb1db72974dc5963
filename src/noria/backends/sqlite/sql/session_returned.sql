-- Note that an ended session holds nothing more.
-- In: 1 session. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE sessions
SET owing = 0
WHERE session = ?1
