-- Jobs that are to be told of the end of another one.
-- In: 1 how many at most. Out: one row, JSON [[id of the one that has ended as hex, its state, id of the one that waits
--     as hex], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(lower(hex(parent)), state, lower(hex(child)))) FROM (
    SELECT p.parent, p.state, a.child FROM ended_parents AS p CROSS JOIN awaits AS a ON a.parent = p.parent LIMIT ?1
)
