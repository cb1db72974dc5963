-- Say how a worker is to be.
-- In: 1 session; 2 'quiet', 'stop', or null for as it likes. Out: nothing; `changes` is 0 if it has ended or never was.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE sessions
SET command = ?2
WHERE session = ?1 AND ended IS NULL
