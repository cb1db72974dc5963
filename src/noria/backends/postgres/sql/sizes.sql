-- How many jobs these queues have in each state, as far as it is committed or written here.
-- In: 1 JSON [queue, …]. Out: one row, JSON [[queue, state, n], …].
-- Locks: reads only; whoever decides by it has others wait by another lock.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, state, n)), '[]')
FROM noria.counts
WHERE queue = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))) AND state > 0
