-- Groups in use, in order.
-- In: 1 family, or null for all; 2 and 3 only those after this family and key; 4 how many at most.
-- Out: one row, JSON [[family, key], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(family, group_key)) FROM (
    SELECT family, group_key FROM groups
    WHERE (family, group_key) > (?2, ?3) AND (?1 IS NULL OR family = ?1)
    ORDER BY family, group_key LIMIT ?4
)
