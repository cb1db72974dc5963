-- Have all groups of families looked at by the next sweeps.
-- In: 1 JSON [family, …]; 2 now. Out: nothing.
-- Locks: the groups, in the order of their names.
-- Safe to repeat: yes.
WITH stirred AS MATERIALIZED (
    SELECT family, group_key FROM noria.groups
    WHERE family = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
    ORDER BY family, group_key
    FOR UPDATE
)
UPDATE noria.groups AS g SET wake = $2::bigint FROM stirred AS s
WHERE g.family = s.family AND g.group_key = s.group_key
AND g.family = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))
