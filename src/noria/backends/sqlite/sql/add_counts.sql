-- Change the counts by what a transaction did; runs once, last in it.
-- In: 1 JSON [[queue, state, difference], …], each pair once. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO counts (queue, state, n)
SELECT value ->> 0, value ->> 1, value ->> 2
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (queue, state) DO UPDATE SET n = n + excluded.n
