-- Groups in which time alone has changed something, or whose jobs callers have added or changed in their own transactions.
-- In: 1 now; 2 how many at most. Out: one row, JSON [[family, key, how many more places are taken, how many more of its
--     jobs are eligible], …].
-- Locks: the groups that are woken; those that others have locked are left to them.
-- Safe to repeat: no, what callers did is told of once, in the transaction that adds it up.
WITH woken AS MATERIALIZED (
    SELECT family, group_key FROM noria.groups
    WHERE wake IS NOT NULL AND wake <= $1::bigint
    ORDER BY wake LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
), first_ones AS MATERIALIZED (
    SELECT id FROM noria.coming ORDER BY id LIMIT $2::bigint FOR UPDATE SKIP LOCKED
), came AS (
    DELETE FROM noria.coming AS c USING first_ones AS f
    WHERE c.id = f.id AND c.id = ANY (ARRAY(SELECT id FROM first_ones))
    RETURNING c.family, c.group_key, c.taken, c.ready
)
SELECT coalesce(json_agg(json_build_array(family, group_key, taken, ready)), '[]') FROM (
    SELECT family, group_key, sum(taken)::integer AS taken, sum(ready)::integer AS ready FROM (
        SELECT family, group_key, 0 AS taken, 0 AS ready FROM woken UNION ALL SELECT * FROM came
    ) AS each_one
    GROUP BY family, group_key
) AS keys
