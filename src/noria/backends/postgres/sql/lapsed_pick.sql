-- Jobs that were not started, or cannot end, in time.
-- In: 1 now; 2 how many at most. Out: one row, JSON [Waiting, …] (see rows.py).
-- Locks: the jobs; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH picked AS MATERIALIZED (
    SELECT id, queue, task, state, reply, deadline, expires, awaited, family, group_key, placed FROM noria.jobs
    WHERE lapse IS NOT NULL AND lapse <= $1::bigint AND state IN (1, 2, 4, 6, 7)
    ORDER BY lapse, id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), queue, task, state, reply, CASE
        WHEN deadline <= $1::bigint THEN 1
        WHEN expires <= $1::bigint THEN 0
        ELSE 2
    END, awaited::integer, family, group_key, placed::integer
)), '[]')
FROM picked
