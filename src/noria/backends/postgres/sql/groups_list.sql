-- Groups in use, in order.
-- In: 1 family, or null for all; 2 and 3 only those after this family and key; 4 how many at most.
-- Out: one row, JSON [[family, key], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(family, group_key)), '[]') FROM (
    SELECT family, group_key FROM noria.groups
    WHERE (family, group_key) > ($2::text, $3::text) AND ($1::text IS NULL OR family = $1::text)
    ORDER BY family, group_key LIMIT $4::bigint
) AS portion
