-- Note which jobs stand for follow-ups of others.
-- In: 1 JSON [[id of the job that asked for them as hex, [id as hex, …]], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET linked = e.value ->> 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state = 10
