-- Drop the oldest partial results of jobs.
-- In: 1 JSON [[id as hex, the first offset to keep], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM items
WHERE (id, n) IN (
    SELECT i.id, i.n FROM jsonb_each(?1) AS e CROSS JOIN items AS i ON i.id = unhex(e.value ->> 0) AND i.n < e.value ->> 1
)
