-- Fold changes of the flow into its sums, by minute and for all time.
-- In: 1 how many at most. Out: nothing.
-- Locks: changes that nobody else is folding, then the sums, in their order.
-- Safe to repeat: yes.
WITH folded AS (
    DELETE FROM noria.flow_changes
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM noria.flow_changes LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
    RETURNING minute, queue, task, word, n
)
INSERT INTO noria.flow_sums (minute, queue, task, word, n)
SELECT span, queue, task, word, sum(n)
FROM folded CROSS JOIN LATERAL (VALUES (minute), (0)) AS s (span)
GROUP BY span, queue, task, word ORDER BY span, queue, task, word
ON CONFLICT (minute, queue, task, word) DO UPDATE SET n = flow_sums.n + excluded.n
