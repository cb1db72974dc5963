-- Ended jobs whose records may go, the oldest first.
-- In: 1 kept only until before this time; 2 whether to look among dead letters; 3 how many at most.
-- Out: one row, JSON [[id as hex, queue, state, dead, 1 if it has blobs], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    hex(id), queue, state, dead, typeof(body) = 'integer' OR typeof(result) = 'integer'
)) FROM (
    SELECT id, queue, state, dead, body, result FROM (
        SELECT prune_at, id, queue, state, dead, body, result FROM jobs INDEXED BY kept
        WHERE NOT ?2 AND prune_at IS NOT NULL AND dead = 0 AND state < 20 AND prune_at <= ?1
        ORDER BY prune_at, id LIMIT ?3
    )
    UNION ALL
    SELECT id, queue, state, dead, body, result FROM (
        SELECT prune_at, id, queue, state, dead, body, result FROM jobs INDEXED BY kept_dead
        WHERE ?2 AND prune_at IS NOT NULL AND dead = 1 AND prune_at <= ?1
        ORDER BY prune_at, id LIMIT ?3
    )
) AS picked
