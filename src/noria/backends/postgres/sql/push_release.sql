-- Have jobs hold their unique keys no more.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT hex::uuid AS id FROM jsonb_array_elements_text($1::jsonb) AS e (hex)
), found AS MATERIALIZED (
    SELECT j.id FROM noria.jobs AS j WHERE j.id = ANY (ARRAY(SELECT id FROM asked)) ORDER BY j.id FOR UPDATE OF j
)
UPDATE noria.jobs AS j
SET hold = -1, live_key = NULL
FROM found AS f WHERE j.id = f.id
