-- Ids of jobs in order that are follow-ups of this one.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first; 4 id of the job that asked for them, as hex.
-- Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(noria.hex(id)), '[]') FROM (
    (SELECT id FROM noria.jobs WHERE parent_id = $4::text AND NOT $3::boolean AND id < $1::uuid ORDER BY id DESC LIMIT $2::bigint)
    UNION ALL
    (SELECT id FROM noria.jobs WHERE parent_id = $4::text AND $3::boolean AND id > $1::uuid ORDER BY id LIMIT $2::bigint)
) AS portion
