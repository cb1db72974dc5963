-- Jobs that no worker has known what to do with for too long.
-- In: 1 parked before this time; 2 how many at most. Out: one row, JSON [Waiting, …] (see rows.py).
-- Locks: the jobs and their pointers; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH first_ones AS MATERIALIZED (
    SELECT id FROM noria.parked WHERE since <= $1::bigint ORDER BY since, id LIMIT $2::bigint
), picked AS MATERIALIZED (
    SELECT j.id, j.queue, j.task, j.state, j.reply, j.awaited, j.family, j.group_key, j.placed
    FROM noria.parked AS p JOIN noria.jobs AS j ON j.id = p.id AND j.state = 7
    WHERE j.id = ANY (ARRAY(SELECT id FROM first_ones)) AND p.since <= $1::bigint
    ORDER BY p.since, p.id LIMIT $2::bigint
    FOR UPDATE OF p, j SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), queue, task, state, reply, 0, awaited::integer, family, group_key, placed::integer
)), '[]')
FROM picked
