-- Jobs with marks of which it was not seen for a while whether they are still there.
-- In: 1 now; 2 how many at most.
-- Out: one row, JSON [[id as hex, whether there is a record, when that may go or null], …].
-- Locks: the marks; those that others look at are left out.
-- Safe to repeat: yes.
WITH old AS MATERIALIZED (
    SELECT id FROM noria.marks WHERE look_at <= $1::bigint ORDER BY look_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(noria.hex(m.id), coalesce(j.state < 20, false)::integer, j.prune_at)), '[]')
FROM old AS m LEFT JOIN noria.jobs AS j ON j.id = m.id
