-- Add to the counts what a transaction did; last in it. It waits for nobody: see count_sums.
-- In: 1 JSON [[queue, state, difference], …], each pair once. Out: nothing.
-- Locks: only the rows that it adds.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO noria.count_changes (queue, state, n)
SELECT v ->> 0, (v ->> 1)::smallint, (v ->> 2)::bigint FROM jsonb_array_elements($1::jsonb) AS e (v)
