-- Have jobs that wait do so in another queue, with the rank and the time bound that it gives them.
-- In: 1 JSON [[id as hex, rank, lapse], …]; 2 queue; 3 JSON of the change. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE jobs
SET queue = ?2, change = ?3, rank = e.value ->> 1, lapse = e.value ->> 2, turn = e.value ->> 1, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (1, 2, 4, 6, 7)
