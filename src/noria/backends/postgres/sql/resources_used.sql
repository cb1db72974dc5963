-- How many jobs run, by what they need.
-- In: nothing. Out: one row, JSON [[gate, n], …].
-- Locks: reads only. Tokens that others take at the same time are those of resources that they have locked.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(gate, n)), '[]') FROM (
    SELECT gate, count(*) AS n FROM noria.tokens GROUP BY gate
) AS used
