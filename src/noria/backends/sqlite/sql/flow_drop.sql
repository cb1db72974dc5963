-- Drop minutes that are kept no longer.
-- In: 1 minutes before this one; 2 how many rows at most. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM flow
WHERE (minute, queue, task, word) IN (
    SELECT minute, queue, task, word FROM flow
    WHERE minute > 0 AND minute < ?1
    ORDER BY minute, queue, task, word LIMIT ?2
)
