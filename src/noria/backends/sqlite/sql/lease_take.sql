-- Hand jobs to a session.
-- In: 1 JSON [id as hex, …]; 2 session; 3 now. Out: nothing; `changes` says how many.
--     From its start on a job's time is its deadline: it has begun, so `expires` no longer matters.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs already is left alone.
UPDATE jobs
SET state = 3, session = ?2, starts = starts + 1, began = ?3, lapse = deadline, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state IN (2, 7)
