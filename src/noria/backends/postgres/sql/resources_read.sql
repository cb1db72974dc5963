-- Resources.
-- In: 1 JSON [name, …], or null for all.
-- Out: one row, JSON as text [[name, need as JSON text, tat], …] of those that are known.
-- Locks: reads only; a lease has locked them before, by resources_claim.sql.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(name, need, tat) ORDER BY name), '[]')::text
FROM noria.resources
WHERE name > '' AND ($1::jsonb IS NULL OR name = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))))
