-- Drop traces of erased records that nobody asks for any more.
-- In: 1 kept only until before this time; 2 how many at most. Out: nothing.
-- Locks: the traces; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH old AS MATERIALIZED (
    SELECT k.at, k.id FROM noria.kept AS k JOIN noria.jobs AS j ON j.id = k.id AND j.state = 20
    WHERE k.kind = 2 AND k.at <= $1::bigint
    ORDER BY k.at, k.id LIMIT $2::bigint
    FOR UPDATE OF k, j SKIP LOCKED
), unkept AS (
    DELETE FROM noria.kept AS k USING old AS o WHERE k.kind = 2 AND k.at = o.at AND k.id = o.id
)
DELETE FROM noria.jobs AS j USING old AS o
WHERE j.id = o.id
