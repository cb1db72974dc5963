-- Count what a transaction did to jobs, in its minute and for all time; last in it.
-- In: 1 JSON [[queue, task, word, n], …], each triple once; 2 minute. Out: nothing.
-- Locks: only the rows that it adds.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO noria.flow_changes (minute, queue, task, word, n)
SELECT $2::bigint, v ->> 0, v ->> 1, v ->> 2, (v ->> 3)::bigint FROM jsonb_array_elements($1::jsonb) AS e (v)
