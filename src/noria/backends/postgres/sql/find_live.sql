-- Ids of jobs in order that have not ended; asked only while these are few. They are sorted, since no table of theirs
-- is in the order of ids.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first; 4 to 8 whether queued ones, running ones,
--     parked ones, those that wait for their time, and those that wait for other jobs or in line.
-- Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH few AS MATERIALIZED (
    SELECT id FROM noria.ready WHERE $4::boolean
    UNION ALL
    SELECT id FROM noria.bound WHERE $4::boolean
    UNION ALL
    SELECT id FROM noria.held WHERE $5::boolean
    UNION ALL
    SELECT id FROM noria.parked WHERE $6::boolean
    UNION ALL
    SELECT id FROM noria.due WHERE $7::boolean
    UNION ALL
    SELECT id FROM noria.following WHERE $8::boolean
    UNION ALL
    SELECT id FROM noria.waiting WHERE $8::boolean
)
SELECT coalesce(json_agg(noria.hex(id)), '[]') FROM (
    (SELECT id FROM few WHERE NOT $3::boolean AND id < $1::uuid ORDER BY id DESC LIMIT $2::bigint)
    UNION ALL
    (SELECT id FROM few WHERE $3::boolean AND id > $1::uuid ORDER BY id LIMIT $2::bigint)
) AS portion
