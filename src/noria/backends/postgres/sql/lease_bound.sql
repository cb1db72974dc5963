-- What a lease could have of bound jobs, locked so that nobody else takes it meanwhile: the first of each line, which are
-- of those that need the same. Each step of the recursion finds the next line by the index.
-- In: 1 JSON [[queue, lane, …], …]; 2 how many candidates to name of each; 3 now.
-- Out: one row, JSON [[place of queue and lane in what was asked, gate, [[rank, id as hex, family, key], …],
--     how many were free], …]. Those of closed groups are not named.
-- Locks: the pointers; those that others have locked are left to them.
-- Safe to repeat: yes; what the same transaction has locked is named again.
WITH RECURSIVE want AS MATERIALIZED (
    SELECT v ->> 0 AS queue, (v ->> 1)::smallint AS lane, place - 1 AS place
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), line (place, queue, lane, gate) AS (
    SELECT place, queue, lane, (
        SELECT b.gate FROM noria.bound AS b
        WHERE b.queue = w.queue AND b.lane = w.lane AND NOT b.suspect ORDER BY b.gate LIMIT 1
    ) FROM want AS w
    UNION ALL
    SELECT place, queue, lane, (
        SELECT b.gate FROM noria.bound AS b
        WHERE b.queue = l.queue AND b.lane = l.lane AND NOT b.suspect AND b.gate > l.gate ORDER BY b.gate LIMIT 1
    ) FROM line AS l WHERE gate IS NOT NULL
)
SELECT coalesce(json_agg(json_build_array(place, gate, coalesce(jobs, '[]'), free)), '[]')
FROM line CROSS JOIN LATERAL (
    SELECT
        json_agg(json_build_array(rank, noria.hex(id), family, group_key) ORDER BY rank, id) FILTER (WHERE NOT closed)
            AS jobs,
        count(*) AS free
    FROM (
        SELECT f.*, coalesce((
            SELECT g.closed > $3::bigint FROM noria.groups AS g
            WHERE g.family = f.family AND g.group_key = f.group_key
        ), false) AS closed
        FROM (
            SELECT b.rank, b.id, b.family, b.group_key FROM noria.bound AS b
            WHERE b.queue = line.queue AND b.lane = line.lane AND NOT b.suspect AND b.gate = line.gate
            ORDER BY b.rank, b.id LIMIT $2::bigint FOR UPDATE SKIP LOCKED
        ) AS f
    ) AS found
) AS front
WHERE gate IS NOT NULL
