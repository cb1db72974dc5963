-- Queues in which bound jobs could run, each found by a step along the index.
-- In: nothing. Out: one row, JSON [queue, …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH RECURSIVE queues (queue) AS (
    SELECT (
        SELECT queue FROM jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue >= '' ORDER BY queue LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT queue FROM jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue > queues.queue ORDER BY queue LIMIT 1
    ) FROM queues WHERE queue IS NOT NULL
)
SELECT json_group_array(queue) FROM queues
WHERE queue IS NOT NULL
