-- Have jobs that wait do so in another queue, with the rank that they have.
-- In: 1 JSON [id as hex, …]; 2 queue; 3 JSON of the change. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE jobs
SET queue = ?2, change = ?3, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state IN (1, 2, 6, 7)
