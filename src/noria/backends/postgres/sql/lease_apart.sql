-- What a lease could have of bound jobs that other workers did not know, or that have crashed their process.
-- In: 1 JSON [[queue, lane, …], …]; 2 session; 3 how many candidates to name of each; 4 now.
-- Out: one row, JSON [[place of queue and lane in what was asked, rank, id as hex, gate, family, key, 1 if it is
--     parked, 1 if it is a suspect], …]. Those of closed groups are not named.
-- Locks: the pointers; those that others have locked are left to them.
-- Safe to repeat: yes; what the same transaction has locked is named again.
WITH found AS MATERIALIZED (
    SELECT e.place - 1 AS place, f.id, 0 AS parked
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
    CROSS JOIN LATERAL (
        SELECT b.id FROM noria.bound AS b
        WHERE b.queue = v ->> 0 AND b.lane = (v ->> 1)::smallint AND b.suspect
        ORDER BY b.gate, b.rank, b.id LIMIT $3::bigint FOR UPDATE SKIP LOCKED
    ) AS f
    UNION ALL
    SELECT e.place - 1, f.id, 1
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
    CROSS JOIN LATERAL (
        SELECT p.id FROM noria.parked AS p
        WHERE p.task = ANY ((SELECT s.tasks FROM noria.sessions AS s WHERE s.session = $2::bigint)::text[])
        AND p.queue = v ->> 0 AND p.lane = (v ->> 1)::smallint AND p.bound
        ORDER BY p.rank, p.id LIMIT $3::bigint FOR UPDATE SKIP LOCKED
    ) AS f
)
SELECT coalesce(json_agg(json_build_array(
    f.place, j.rank, noria.hex(j.id), j.gate, j.family, j.group_key, f.parked, (j.crashes >= 2)::integer
)), '[]')
FROM found AS f JOIN noria.jobs AS j ON j.id = f.id AND j.id = ANY (ARRAY(SELECT id FROM found))
WHERE NOT coalesce((
    SELECT g.closed > $4::bigint FROM noria.groups AS g WHERE g.family = j.family AND g.group_key = j.group_key
), false)
