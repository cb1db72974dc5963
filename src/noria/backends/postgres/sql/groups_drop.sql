-- Forget groups that are not in use.
-- In: 1 JSON [[family, key], …]. Out: nothing.
-- Locks: the groups, as groups_lock.sql has before.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT v ->> 0 AS family, v ->> 1 AS group_key FROM jsonb_array_elements($1::jsonb) AS e (v)
)
DELETE FROM noria.groups AS g USING asked AS a
WHERE g.family = a.family AND g.group_key = a.group_key
AND g.family = ANY (ARRAY(SELECT DISTINCT family FROM asked)) AND g.group_key = ANY (ARRAY(SELECT group_key FROM asked))
