-- Forget ends of which everybody was told.
-- In: nothing. Out: nothing.
-- Locks: the ends; those that others have locked are left to them.
-- Safe to repeat: yes.
WITH over AS MATERIALIZED (
    SELECT p.parent FROM noria.ended_parents AS p
    WHERE NOT EXISTS (SELECT 1 FROM noria.awaits AS a WHERE a.parent = p.parent)
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
)
DELETE FROM noria.ended_parents AS p USING over AS o WHERE p.parent = o.parent
