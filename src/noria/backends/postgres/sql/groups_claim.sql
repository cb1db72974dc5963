-- Have others wait who hand over places of these groups, without waiting for those who do just now.
-- In: 1 JSON [[family, key], …]. Out: one row, JSON [[family, key], …] of those that others have locked.
-- Locks: the groups, as far as they are free.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT v ->> 0 AS family, v ->> 1 AS group_key FROM jsonb_array_elements($1::jsonb) AS e (v)
), known AS MATERIALIZED (
    SELECT
        a.family, a.group_key,
        (
            SELECT 1 FROM noria.groups AS g
            WHERE g.family = a.family AND g.group_key = a.group_key FOR UPDATE SKIP LOCKED
        ) AS free,
        (SELECT 1 FROM noria.groups AS g WHERE g.family = a.family AND g.group_key = a.group_key) AS there
    FROM asked AS a
)
SELECT coalesce(json_agg(json_build_array(family, group_key)), '[]') FROM known
WHERE free IS NULL AND there IS NOT NULL
