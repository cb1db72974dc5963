-- Jobs that run and need resources.
-- In: 1 how many at most. Out: one row, JSON [[gate, id as hex], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(gate, hex(id))) FROM (
    SELECT gate, id FROM jobs INDEXED BY bound_running
    WHERE state = 3 AND gate > ''
    ORDER BY gate, id LIMIT ?1
)
