-- Give jobs other arguments; the large ones before them are dropped already.
-- In: 1 JSON [[id as hex, body as text or key, body as hex], …]; 2 codec. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE jobs
SET body = coalesce(e.value ->> 1, unhex(e.value ->> 2)), codec = ?2
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (1, 2, 4, 6, 7)
