-- Note what jobs remember that are about to be queued again.
-- In: 1 JSON [[id as hex, JSON of their past lives], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that has not ended is left alone.
UPDATE jobs SET past = e.value ->> 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (11, 12, 13)
