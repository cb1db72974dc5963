-- Which versions documents have.
-- In: 1 JSON [[kind, name], …]; 2 now. Out: one row, JSON [version, or 0 if there is none, …] in the same order.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(coalesce(b.version, 0))
FROM jsonb_each(?1) AS e
LEFT JOIN board AS b ON b.kind = e.value ->> 0 AND b.name = e.value ->> 1 AND (b.expires IS NULL OR b.expires > ?2)
