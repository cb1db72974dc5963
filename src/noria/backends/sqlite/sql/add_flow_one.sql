-- As add_flow.sql, of one queue, task and word.
-- In: 1 queue; 2 task; 3 word; 4 n; 5 minute. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: only together with the rest of its transaction.
INSERT INTO flow (minute, queue, task, word, n)
VALUES (?5, ?1, ?2, ?3, ?4), (0, ?1, ?2, ?3, ?4)
ON CONFLICT (minute, queue, task, word) DO UPDATE SET n = n + excluded.n
