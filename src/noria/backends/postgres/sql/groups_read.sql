-- How groups stand, for people.
-- In: 1 JSON [[family, key], …]; 2 how many holders to name; 3 to which number those that wait are counted.
-- Out: one row, JSON [[Stand or null, [id of a holder as hex, …], how many wait], …] in the same order (see groups.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(
    (
        SELECT json_build_array(g.taken, g.ready, g.tat, g.closed, g.reason, g.by, g.wake)
        FROM noria.groups AS g WHERE g.family = v ->> 0 AND g.group_key = v ->> 1
    ),
    (
        SELECT coalesce(json_agg(noria.hex(id)), '[]') FROM (
            SELECT p.id FROM noria.places AS p
            WHERE p.family = v ->> 0 AND p.group_key = v ->> 1
            ORDER BY p.id LIMIT $2::bigint
        ) AS holders
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM noria.waiting AS w
            WHERE w.family = v ->> 0 AND w.group_key = v ->> 1
            LIMIT $3::bigint
        ) AS line
    )
) ORDER BY place), '[]')
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
