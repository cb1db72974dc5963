-- As add_flow.sql, of one queue, task and word.
-- In: 1 queue; 2 task; 3 word; 4 n; 5 minute. Out: nothing.
-- Locks: only the row that it adds.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO noria.flow_changes (minute, queue, task, word, n)
VALUES ($5::bigint, $1::text, $2::text, $3::text, $4::bigint)
