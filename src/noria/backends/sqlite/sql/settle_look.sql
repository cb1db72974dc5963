-- Check the fences of starts that did not succeed, and read what their end needs.
-- In: 1 JSON [[id as hex, starts], …]; 2 session.
-- Out: one row
--     alive: whether the session is open;
--     worker: the label of its worker;
--     bounds: as limits.sql;
--     items: JSON [Running, …] in the same order (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
-- The pluses keep the planner on the primary key: with an index on session it is fifteen times slower.
SELECT
    EXISTS (SELECT 1 FROM sessions WHERE session = ?2 AND ended IS NULL) AS alive,
    (SELECT worker FROM sessions WHERE session = ?2) AS worker,
    (SELECT json_group_array(json_array(queue, newest, ageing, max_age, max_length, concurrency, json(high_water))) FROM limits) AS bounds,
    (
        SELECT json_group_array(CASE
            WHEN j.id IS NULL OR +j.session <> ?2 OR +j.starts <> e.value ->> 1
                THEN json_array(0, e.value ->> 0, e.value ->> 1)
            WHEN j.gate IS NULL THEN json_array(
                CASE +j.state WHEN 3 THEN 1 ELSE 2 END, e.value ->> 0, e.value ->> 1, j.queue, j.task, j.reply,
                CASE WHEN j.cancelling THEN coalesce(j.change ->> 'note', '') END,
                j.spent, j.attempts, j.crashes, j.crash_budget, j.releases, j.snoozes, j.rank, j.priority, j.due,
                j.expires, j.deadline, j.began, j.awaited
            )
            ELSE json_array(
                CASE +j.state WHEN 3 THEN 1 ELSE 2 END, e.value ->> 0, e.value ->> 1, j.queue, j.task, j.reply,
                CASE WHEN j.cancelling THEN coalesce(j.change ->> 'note', '') END,
                j.spent, j.attempts, j.crashes, j.crash_budget, j.releases, j.snoozes, j.rank, j.priority, j.due,
                j.expires, j.deadline, j.began, j.awaited, j.family, j.group_key, j.gate
            )
        END)
        FROM jsonb_each(?1) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value ->> 0)
    ) AS items
