-- Delete documents.
-- In: 1 JSON [[kind, name], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM board
WHERE version IN (
    SELECT b.version FROM jsonb_each(?1) AS e CROSS JOIN board AS b ON b.kind = e.value ->> 0 AND b.name = e.value ->> 1
)
