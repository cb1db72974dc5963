-- Fold changes of the counts into their sums.
-- In: 1 how many at most. Out: nothing.
-- Locks: changes that nobody else is folding, then the sums, in their order.
-- Safe to repeat: yes.
WITH folded AS (
    DELETE FROM noria.count_changes
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM noria.count_changes LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
    RETURNING queue, state, n
)
INSERT INTO noria.count_sums (queue, state, n)
SELECT queue, state, sum(n) FROM folded GROUP BY queue, state ORDER BY queue, state
ON CONFLICT (queue, state) DO UPDATE SET n = count_sums.n + excluded.n
