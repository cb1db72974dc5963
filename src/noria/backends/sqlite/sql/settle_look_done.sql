-- Check the fences of starts that succeeded, and read what their end needs.
-- In: 1 JSON [[id as hex, starts], …]; 2 session; 3 now.
-- Out: one row
--     alive: whether the session is open;
--     kept: how many records of ended jobs there are; stale: whether some of them may go;
--     bounds: as limits.sql;
--     items: JSON [Fenced, …] in the same order (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
-- The pluses keep the planner on the primary key: with an index on session it is fifteen times slower.
SELECT
    EXISTS (SELECT 1 FROM sessions WHERE session = ?2 AND ended IS NULL) AS alive,
    (SELECT coalesce(sum(CASE state WHEN -1 THEN -n ELSE n END), 0) FROM counts WHERE state >= 10 OR state = -1)
        AS kept,
    EXISTS (
        SELECT 1 FROM jobs INDEXED BY kept WHERE prune_at IS NOT NULL AND dead = 0 AND state < 20 AND prune_at <= ?3
    ) AS stale,
    (SELECT json_group_array(json_array(queue, newest, ageing, max_age, max_length, concurrency, json(high_water))) FROM limits) AS bounds,
    (
        SELECT json_group_array(CASE
            WHEN j.id IS NULL OR +j.session <> ?2 OR +j.starts <> e.value ->> 1 THEN json_array(0)
            WHEN j.gate IS NULL THEN json_array(
                CASE +j.state WHEN 3 THEN 1 ELSE 2 END, j.queue, j.task, j.reply, j.keep, typeof(j.body) = 'integer',
                j.awaited
            )
            ELSE json_array(
                CASE +j.state WHEN 3 THEN 1 ELSE 2 END, j.queue, j.task, j.reply, j.keep, typeof(j.body) = 'integer',
                j.awaited, j.family, j.group_key, j.gate
            )
        END)
        FROM jsonb_each(?1) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value ->> 0)
    ) AS items
