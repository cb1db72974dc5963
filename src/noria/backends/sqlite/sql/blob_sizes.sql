-- How large some values are; reads none of them.
-- In: 1 JSON [key, …]. Out: one row, JSON [bytes, …] in the same order.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(coalesce(octet_length(b.data), 0))
FROM jsonb_each(?1) AS e LEFT JOIN blobs AS b ON b.key = e.value
