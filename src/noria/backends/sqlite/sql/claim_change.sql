-- Give jobs that wait, and were never leased, the arguments and times of others; large bodies are dropped already.
-- In: 1 JSON [[id as hex, state, rank, due, expires, deadline, lapse, body as text or key, body as hex, codec], …].
-- Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; a job that was leased or has ended is left alone.
UPDATE jobs
SET state = e.value ->> 1, rank = e.value ->> 2,
    turn = CASE WHEN family IS NOT NULL THEN e.value ->> 2 END, due = e.value ->> 3, expires = e.value ->> 4,
    deadline = e.value ->> 5, lapse = e.value ->> 6, body = coalesce(e.value ->> 7, unhex(e.value ->> 8)),
    codec = e.value ->> 9, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state IN (1, 2, 4) AND jobs.starts = 0
