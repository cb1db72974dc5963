-- Have others wait who take tokens of these resources, without waiting for those who do just now.
-- In: 1 JSON [name, …]. Out: one row, JSON [name, …] of those that others have locked.
-- Locks: the resources, in the order of their names, as far as they are free.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT jsonb_array_elements_text($1::jsonb) AS name
), claimed AS MATERIALIZED (
    SELECT name FROM noria.resources WHERE name = ANY (ARRAY(SELECT name FROM asked))
    ORDER BY name
    FOR UPDATE SKIP LOCKED
)
SELECT coalesce(json_agg(name), '[]') FROM noria.resources
WHERE name = ANY (ARRAY(SELECT name FROM asked)) AND name <> ALL (ARRAY(SELECT name FROM claimed))
