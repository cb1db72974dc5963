-- Jobs of these queues whose time has come.
-- In: 1 JSON [queue, …]; 2 now; 3 how many at most. Out: one row, JSON [Due, …] (see rows.py).
-- Locks: the jobs and their pointers; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH picked AS MATERIALIZED (
    SELECT j.id, j.queue, j.state, j.family, j.group_key, j.placed
    FROM jsonb_array_elements_text($1::jsonb) AS q (queue)
    CROSS JOIN LATERAL (
        SELECT d.id FROM noria.due AS d
        WHERE d.queue = q.queue AND d.at <= $2::bigint
        ORDER BY d.at, d.id LIMIT $3::bigint FOR UPDATE SKIP LOCKED
    ) AS d
    JOIN noria.jobs AS j ON j.id = d.id AND j.state IN (1, 6)
    LIMIT $3::bigint FOR UPDATE OF j SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), queue, state, family, group_key, placed::integer
)), '[]')
FROM picked
