-- Partial results of a job.
-- In: 1 id; 2 the first offset; 3 how many at most.
-- Out: no row if there is no such job, or one (the next offset, JSON [[offset, at, starts, data as hex], …]).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    coalesce((SELECT emitted FROM noria.marks WHERE id = $1::uuid), 0),
    (
        SELECT coalesce(json_agg(json_build_array(n, at, starts, encode(data, 'hex')) ORDER BY n), '[]')
        FROM (
            SELECT n, at, starts, data FROM noria.items WHERE id = $1::uuid AND n >= $2::bigint
            ORDER BY n LIMIT $3::bigint
        ) AS page
    )
FROM noria.jobs
WHERE id = $1::uuid AND state < 20
