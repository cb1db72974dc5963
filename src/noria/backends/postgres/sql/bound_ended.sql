-- Starts of bound jobs have succeeded: they have a place and tokens no more.
-- In: 1 JSON [[id as hex, family or null, key or null, gate], …]. Out: nothing.
-- Locks: the pointers; the jobs are locked before.
-- Safe to repeat: yes.
WITH ended AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, v ->> 1 AS family, v ->> 2 AS group_key, v ->> 3 AS gate
    FROM jsonb_array_elements($1::jsonb) AS e (v)
), tokens AS (
    DELETE FROM noria.tokens AS t USING ended AS d WHERE d.gate > '' AND t.gate = d.gate AND t.id = d.id
)
DELETE FROM noria.places AS p USING ended AS d
WHERE p.family = d.family AND p.group_key = d.group_key AND p.id = d.id
