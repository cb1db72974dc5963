-- Jobs that run and need resources.
-- In: 1 how many at most. Out: one row, JSON [[gate, id as hex], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(gate, noria.hex(id))), '[]') FROM (
    SELECT gate, id FROM noria.tokens ORDER BY gate, id LIMIT $1::bigint
) AS holders
