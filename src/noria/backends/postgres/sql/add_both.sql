-- As add_counts.sql and add_flow_one.sql together, which is what most transactions have to add.
-- In: 1 JSON [[queue, state, difference], …], each pair once; 2 queue; 3 task; 4 word; 5 n; 6 minute. Out: nothing.
-- Locks: only the rows that it adds.
-- Safe to repeat: only together with the rest of its transaction.
WITH counted AS (
    INSERT INTO noria.count_changes (queue, state, n)
    SELECT v ->> 0, (v ->> 1)::smallint, (v ->> 2)::bigint FROM jsonb_array_elements($1::jsonb) AS e (v)
)
INSERT INTO noria.flow_changes (minute, queue, task, word, n)
VALUES ($6::bigint, $2::text, $3::text, $4::text, $5::bigint)
