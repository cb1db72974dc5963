-- Drop documents whose time is over.
-- In: 1 now; 2 how many at most. Out: nothing; `changes` says how many.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM board
WHERE version IN (
    SELECT version FROM board INDEXED BY board_expiring
    WHERE expires IS NOT NULL AND expires <= ?1
    ORDER BY expires LIMIT ?2
)
