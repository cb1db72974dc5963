-- The rules of families.
-- In: 1 JSON [family, …]. Out: one row, JSON as text [[family, rule as JSON text], …] of those that are known.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(family, rule)), '[]')::text
FROM noria.families WHERE family = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
