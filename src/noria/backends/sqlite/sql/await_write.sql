-- Write how many jobs others still wait for, and how those that wait no more go on.
-- In: 1 JSON [[id as hex, state, pending, 1 if one did not succeed, rank, due], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that does not wait is left alone.
UPDATE jobs
SET state = e.value ->> 1, pending = e.value ->> 2, spoiled = e.value ->> 3, rank = e.value ->> 4,
    turn = CASE WHEN family IS NOT NULL THEN e.value ->> 4 END, due = e.value ->> 5,
    version = version + (e.value ->> 1 <> 4 OR e.value ->> 2 = 0)
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state = 4
