-- Jobs that are to be told of the end of another one; whoever tells them has them for itself.
-- In: 1 how many at most. Out: one row, JSON [[id of the one that has ended as hex, its state, id of the one that waits
--     as hex], …].
-- Locks: the pairs; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH picked AS MATERIALIZED (
    SELECT p.parent, p.state, a.child
    FROM noria.ended_parents AS p JOIN noria.awaits AS a ON a.parent = p.parent
    LIMIT $1::bigint
    FOR UPDATE OF a SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(noria.hex(parent), state, noria.hex(child))), '[]') FROM picked
