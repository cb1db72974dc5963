-- What earlier starts have left for the next ones of their jobs.
-- In: 1 JSON [id as hex, …].
-- Out: one row, JSON [[checkpoint as hex or null, question or null] or null, …] in the same order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(CASE WHEN m.id IS NOT NULL THEN json_build_array(encode(m.checkpoint, 'hex'), m.asks) END
    ORDER BY place), '[]')
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place)
LEFT JOIN noria.marks AS m ON m.id = e.id::uuid
