-- Drop traces of erased records that nobody asks for any more.
-- In: 1 kept only until before this time; 2 how many at most. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM jobs
WHERE id IN (
    SELECT id FROM jobs INDEXED BY erased
    WHERE state = 20 AND prune_at <= ?1
    ORDER BY prune_at, id LIMIT ?2
)
