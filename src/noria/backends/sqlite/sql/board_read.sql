-- Read documents.
-- In: 1 JSON [[kind, name], …]; 2 now.
-- Out: one row, JSON [[version, expires, data as text, data as hex] or null, …] in the same order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(CASE WHEN b.version IS NOT NULL THEN json_array(
    b.version, b.expires,
    CASE typeof(b.data) WHEN 'text' THEN b.data END,
    CASE typeof(b.data) WHEN 'blob' THEN hex(b.data) END
) END)
FROM jsonb_each(?1) AS e
LEFT JOIN board AS b ON b.kind = e.value ->> 0 AND b.name = e.value ->> 1 AND (b.expires IS NULL OR b.expires > ?2)
