-- Jobs with marks of which it was not seen for a while whether they are still there.
-- In: 1 now; 2 how many at most.
-- Out: one row, JSON [[id as hex, whether there is a record, when that may go or null], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(lower(hex(m.id)), coalesce(j.state < 20, 0), j.prune_at))
FROM (SELECT id FROM marks INDEXED BY marks_old WHERE look_at <= ?1 ORDER BY look_at LIMIT ?2) AS m
LEFT JOIN jobs AS j ON j.id = m.id
