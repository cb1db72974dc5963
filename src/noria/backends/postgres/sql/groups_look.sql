-- How groups stand. groups_lock.sql goes before, as a statement of its own, so that this one sees what others did.
-- In: 1 JSON [[family, key], …]. Out: one row, JSON [Stand or null, …] in the same order (see groups.py).
-- Locks: nothing more.
-- Safe to repeat: yes.
SELECT coalesce(json_agg((
    SELECT json_build_array(g.taken, g.ready, g.tat, g.closed, g.reason, g.by, g.wake)
    FROM noria.groups AS g WHERE g.family = v ->> 0 AND g.group_key = v ->> 1
) ORDER BY place), '[]')
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
