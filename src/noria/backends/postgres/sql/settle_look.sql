-- Check the fences of starts that did not succeed, and read what their end needs.
-- In: 1 JSON [[id as hex, starts], …]; 2 session.
-- Out: one row
--     alive: whether the session is open;
--     worker: the label of its worker;
--     bounds: as limits.sql;
--     items: JSON [Running, …] in the same order (see rows.py).
-- Locks: the session, so that its end waits; then the jobs that it holds, in the order of their ids.
-- Safe to repeat: yes.
WITH alive AS MATERIALIZED (
    SELECT 1 FROM noria.sessions WHERE session = $2::bigint AND ended IS NULL FOR SHARE
), asked AS MATERIALIZED (
    SELECT v ->> 0 AS hex, (v ->> 0)::uuid AS id, (v ->> 1)::bigint AS starts, place
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), running AS MATERIALIZED (
    SELECT j.id, j.starts, j.queue, j.task, j.reply, j.inbox, j.change, j.spent, j.attempts, j.crashes, j.crash_budget,
        j.releases, j.snoozes, j.rank, j.priority, j.due, j.expires, j.deadline, j.began, j.awaited,
        j.family, j.group_key, j.gate
    FROM alive CROSS JOIN (SELECT DISTINCT id, starts FROM asked) AS a
    JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
    AND j.starts = a.starts AND j.session = $2::bigint AND j.state = 3
    ORDER BY j.id
    FOR UPDATE OF j
)
SELECT
    EXISTS (SELECT 1 FROM alive)::integer AS alive,
    (SELECT worker FROM noria.sessions WHERE session = $2::bigint) AS worker,
    (SELECT coalesce(json_agg(json_build_array(queue, newest, ageing, max_age, max_length, concurrency, high_water)), '[]') FROM noria.limits) AS bounds,
    coalesce(json_agg(CASE
        WHEN r.id IS NULL THEN json_build_array(noria.fence(a.id, $2::bigint, a.starts), a.hex, a.starts)
        ELSE json_build_array(
            1, a.hex, a.starts, r.queue, r.task, r.reply,
            CASE WHEN r.inbox IS NOT NULL THEN coalesce(noria.peek(r.change, 'note'), '') END,
            r.spent, r.attempts, r.crashes, r.crash_budget, r.releases, r.snoozes, r.rank, r.priority, r.due,
            r.expires, r.deadline, r.began, r.awaited::integer, r.family, r.group_key, r.gate
        )
    END ORDER BY a.place), '[]') AS items
FROM asked AS a LEFT JOIN running AS r ON r.id = a.id AND r.starts = a.starts
