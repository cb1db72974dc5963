-- Read large values.
-- In: 1 JSON [key, …]. Out: one row, JSON [[data as text, data as hex], …] in the same order.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    CASE typeof(b.data) WHEN 'text' THEN b.data END,
    CASE typeof(b.data) WHEN 'blob' THEN hex(b.data) END
))
FROM jsonb_each(?1) AS e LEFT JOIN blobs AS b ON b.key = e.value
