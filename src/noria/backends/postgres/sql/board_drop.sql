-- Drop documents whose time is over.
-- In: 1 now; 2 how many at most. Out: nothing; the number of rows says how many.
-- Locks: the documents; those that others have locked are left to them.
-- Safe to repeat: yes.
DELETE FROM noria.board
WHERE (kind, name) IN (
    SELECT kind, name FROM noria.board
    WHERE expires IS NOT NULL AND expires <= $1::bigint
    ORDER BY expires LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
)
