-- Partial results of a job.
-- In: 1 id; 2 the first offset; 3 how many at most.
-- Out: no row if there is no such job, or one (the next offset, JSON [[offset, at, starts, data as hex], …]).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    coalesce((SELECT emitted FROM marks WHERE id = ?1), 0),
    (
        SELECT json_group_array(json_array(n, at, starts, hex(data)))
        FROM (SELECT n, at, starts, data FROM items WHERE id = ?1 AND n >= ?2 ORDER BY n LIMIT ?3)
    )
FROM jobs
WHERE id = ?1 AND state < 20
