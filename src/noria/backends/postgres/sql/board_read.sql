-- Read documents.
-- In: 1 JSON [[kind, name], …]; 2 now.
-- Out: one row, JSON [[version, expires, data as text, data as hex] or null, …] in the same order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(CASE WHEN b.version IS NOT NULL THEN
    json_build_array(b.version, b.expires, b.data, encode(b.data_bytes, 'hex'))
END ORDER BY place), '[]')
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
LEFT JOIN noria.board AS b
    ON b.kind = v ->> 0 AND b.name = v ->> 1 AND (b.expires IS NULL OR b.expires > $2::bigint)
