-- Ended jobs whose records may go, the oldest first.
-- In: 1 kept only until before this time; 2 whether to look among dead letters; 3 how many at most.
-- Out: one row, JSON [[id as hex, queue, state, dead, 0], …].
-- Locks: the jobs and their pointers; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH picked AS MATERIALIZED (
    SELECT j.id, j.queue, j.state, j.dead
    FROM noria.kept AS k JOIN noria.jobs AS j ON j.id = k.id
    WHERE k.kind = $2::boolean::integer AND k.at <= $1::bigint
    ORDER BY k.at, k.id LIMIT $3::bigint
    FOR UPDATE OF k, j SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(noria.hex(id), queue, state, dead::integer, 0)), '[]') FROM picked
