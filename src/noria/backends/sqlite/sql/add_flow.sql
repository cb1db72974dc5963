-- Count what a transaction did to jobs, in its minute and for all time; runs once, last in it.
-- In: 1 JSON [[queue, task, word, n], …], each triple once; 2 minute. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO flow (minute, queue, task, word, n)
SELECT span.minute, value ->> 0, value ->> 1, value ->> 2, value ->> 3
FROM (SELECT ?2 AS minute UNION ALL SELECT 0) AS span CROSS JOIN jsonb_each(?1)
WHERE true
ON CONFLICT (minute, queue, task, word) DO UPDATE SET n = n + excluded.n
