-- Jobs that a session holds.
-- In: 1 session; 2 JSON [[id as hex, starts], …] to leave out; 3 how many at most.
-- Out: one row, JSON [Running, …] (see rows.py).
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH picked AS MATERIALIZED (
    SELECT j.id, j.starts, j.queue, j.task, j.reply, j.inbox, j.change, j.spent, j.attempts, j.crashes, j.crash_budget,
        j.releases, j.snoozes, j.rank, j.priority, j.due, j.expires, j.deadline, j.began, j.awaited,
        j.family, j.group_key, j.gate
    FROM noria.held AS h JOIN noria.jobs AS j ON j.id = h.id AND j.session = h.session AND j.state = 3
    WHERE h.session = $1::bigint
    AND NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements($2::jsonb) AS e (v)
        WHERE (v ->> 0)::uuid = j.id AND (v ->> 1)::bigint = j.starts
    )
    ORDER BY h.id LIMIT $3::bigint
    FOR UPDATE OF j
)
SELECT coalesce(json_agg(json_build_array(
    1, noria.hex(id), starts, queue, task, reply,
    CASE WHEN inbox IS NOT NULL THEN coalesce(noria.peek(change, 'note'), '') END,
    spent, attempts, crashes, crash_budget, releases, snoozes, rank, priority, due, expires, deadline, began,
    awaited::integer, family, group_key, gate
) ORDER BY id), '[]')
FROM picked
