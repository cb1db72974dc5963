-- Groups in which time alone has changed something.
-- In: 1 now; 2 how many at most. Out: one row, JSON [[family, key, 0, 0], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(family, group_key, 0, 0)) FROM (
    SELECT family, group_key FROM groups INDEXED BY groups_waking
    WHERE wake IS NOT NULL AND wake <= ?1
    ORDER BY wake LIMIT ?2
)
