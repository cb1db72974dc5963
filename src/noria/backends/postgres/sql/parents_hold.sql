-- How the jobs stand that others begin to wait for; as parents_look.sql, for certain.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [state, …] in the same order; 0 if there is none; of an erased record 10
--     if it had succeeded, else 12.
-- Locks: the jobs, in the order of their ids, so that none ends before it is marked.
-- Safe to repeat: yes.
WITH found AS MATERIALIZED (
    SELECT id, state, spoiled FROM noria.jobs
    WHERE id = ANY (ARRAY(SELECT e.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS e (id)))
    ORDER BY id
    FOR UPDATE
)
SELECT coalesce(json_agg(CASE
    WHEN j.id IS NULL THEN 0
    WHEN j.state = 20 THEN CASE WHEN j.spoiled THEN 12 ELSE 10 END
    ELSE j.state
END ORDER BY place), '[]')
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place) LEFT JOIN found AS j ON j.id = e.id::uuid
