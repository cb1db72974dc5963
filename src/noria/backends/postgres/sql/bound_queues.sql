-- Queues in which bound jobs could run, each found by a step along the index.
-- In: nothing. Out: one row, JSON as text [queue, …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH RECURSIVE queues (queue) AS (
    (SELECT b.queue FROM noria.bound AS b ORDER BY b.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT b.queue FROM noria.bound AS b WHERE b.queue > q.queue ORDER BY b.queue LIMIT 1)
    FROM queues AS q WHERE q.queue IS NOT NULL
)
SELECT coalesce(json_agg(queue), '[]')::text FROM queues WHERE queue IS NOT NULL
