-- Groups in which time alone has changed something, or into which callers have enqueued in their own transactions.
-- In: 1 now; 2 how many at most. Out: one row, JSON [[family, key], …].
-- Locks: the groups that are woken; those that others have locked are left to them.
-- Safe to repeat: yes.
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
    RETURNING c.family, c.group_key
)
SELECT coalesce(json_agg(json_build_array(family, group_key)), '[]') FROM (
    SELECT family, group_key FROM woken UNION SELECT family, group_key FROM came
) AS keys
