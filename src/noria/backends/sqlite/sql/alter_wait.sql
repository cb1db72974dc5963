-- Change jobs that wait: when they may run, in which order, until when.
-- In: 1 JSON [[id as hex, state, priority, rank, due, expires, lapse, extras], …]; 2 JSON of the change. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE jobs
SET state = e.value ->> 1, priority = e.value ->> 2, rank = e.value ->> 3, turn = e.value ->> 3, due = e.value ->> 4,
    expires = e.value ->> 5, lapse = e.value ->> 6, extras = e.value ->> 7, change = ?2, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (1, 2, 4, 6, 7)
