-- Drop minutes that are kept no longer.
-- In: 1 minutes before this one; 2 how many rows at most. Out: nothing.
-- Locks: the minutes; those that others have locked are left to them.
-- Safe to repeat: yes.
DELETE FROM noria.flow_sums
WHERE (minute, queue, task, word) IN (
    SELECT minute, queue, task, word FROM noria.flow_sums
    WHERE minute > 0 AND minute < $1::bigint
    ORDER BY minute, queue, task, word LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
)
