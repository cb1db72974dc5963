-- What a lease could have, locked so that nobody else takes it meanwhile.
-- In: 1 JSON [[queue, lane, how many, from which rank on], …]; 2 session; 3 now.
-- Out: one row
--     alive: whether the session is open;
--     moving: whether time has moved something in these queues that must be promoted, or anywhere that must expire,
--         or a group;
--     next_due: when the next job of these queues becomes due, or null;
--     next_wake: when time changes something in a group, or null;
--     bound, apart: whether lease_bound.sql, or lease_apart.sql, would find something;
--     paused: JSON [queue, …], of all that are;
--     bounds: as limits.sql;
--     lines: JSON, for each queue and lane [parked, ready, suspects], each [[rank, id as hex], …]; ready in order
--         of rank, parked those of the session's tasks; none of them has a group, or needs resources;
--     contended: whether something is ready in a queue and lane where others had locked all of it.
-- Locks: the pointers that it names; those that others have locked are left to them.
-- Safe to repeat: yes; what the same transaction has locked is named again.
WITH want AS MATERIALIZED (
    SELECT v ->> 0 AS queue, (v ->> 1)::smallint AS lane, (v ->> 2)::bigint AS most,
        (v ->> 3)::bigint AS mark, place
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), line AS MATERIALIZED (
    SELECT
        place, queue, lane,
        CASE WHEN EXISTS (SELECT 1 FROM noria.parked) THEN (
            SELECT json_agg(json_build_array(rank, noria.hex(id)) ORDER BY rank, id) FROM (
                SELECT p.rank, p.id FROM noria.parked AS p
                WHERE p.task = ANY ((SELECT s.tasks FROM noria.sessions AS s WHERE s.session = $2::bigint)::text[])
                AND p.queue = w.queue AND p.lane = w.lane AND NOT p.suspect AND NOT p.bound
                ORDER BY p.rank, p.id LIMIT w.most FOR UPDATE SKIP LOCKED
            ) AS found
        ) END AS parked,
        (
            SELECT json_agg(json_build_array(rank, noria.hex(id)) ORDER BY rank, id) FROM (
                SELECT r.rank, r.id FROM noria.ready AS r
                WHERE r.queue = w.queue AND r.lane = w.lane AND NOT r.suspect AND r.rank >= w.mark
                ORDER BY r.rank, r.id LIMIT w.most FOR UPDATE SKIP LOCKED
            ) AS found
        ) AS ready,
        (
            SELECT json_agg(json_build_array(rank, noria.hex(id)) ORDER BY rank, id) FROM (
                SELECT r.rank, r.id FROM noria.ready AS r
                WHERE r.queue = w.queue AND r.lane = w.lane AND r.suspect
                ORDER BY r.rank, r.id LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS found
        ) AS suspects,
        CASE WHEN EXISTS (SELECT 1 FROM noria.parked) THEN (
            SELECT json_agg(json_build_array(rank, noria.hex(id)) ORDER BY rank, id) FROM (
                SELECT p.rank, p.id FROM noria.parked AS p
                WHERE p.task = ANY ((SELECT s.tasks FROM noria.sessions AS s WHERE s.session = $2::bigint)::text[])
                AND p.queue = w.queue AND p.lane = w.lane AND p.suspect AND NOT p.bound
                LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS found
        ) END AS parked_suspects
    FROM want AS w
)
SELECT
    EXISTS (SELECT 1 FROM noria.sessions WHERE session = $2::bigint AND ended IS NULL)::integer AS alive,
    (
        EXISTS (SELECT 1 FROM want AS w JOIN noria.due AS d ON d.queue = w.queue AND d.at <= $3::bigint)
        OR EXISTS (SELECT 1 FROM noria.jobs WHERE lapse IS NOT NULL AND lapse <= $3::bigint)
        OR EXISTS (SELECT 1 FROM noria.groups WHERE wake IS NOT NULL AND wake <= $3::bigint)
        OR EXISTS (SELECT 1 FROM noria.coming)
    )::integer AS moving,
    (SELECT min((SELECT min(d.at) FROM noria.due AS d WHERE d.queue = w.queue)) FROM want AS w) AS next_due,
    (SELECT min(wake) FROM noria.groups WHERE wake IS NOT NULL) AS next_wake,
    (
        SELECT count((
            SELECT 1 FROM noria.bound AS b
            WHERE b.queue = w.queue AND b.lane = w.lane AND NOT b.suspect LIMIT 1
        )) FROM want AS w
    )::integer AS bound,
    (
        SELECT count(coalesce(
            (SELECT 1 FROM noria.bound AS b WHERE b.queue = w.queue AND b.lane = w.lane AND b.suspect LIMIT 1),
            (SELECT 1 FROM noria.parked AS p WHERE p.bound AND p.queue = w.queue AND p.lane = w.lane LIMIT 1)
        )) FROM want AS w
    )::integer AS apart,
    (SELECT coalesce(json_agg(queue), '[]') FROM noria.pauses WHERE until IS NULL OR until > $3::bigint) AS paused,
    (SELECT coalesce(json_agg(json_build_array(queue, newest, ageing, max_age, max_length, concurrency, high_water)), '[]') FROM noria.limits) AS bounds,
    coalesce(json_agg(json_build_array(
        coalesce(parked, '[]'), coalesce(ready, '[]'),
        (coalesce(suspects::jsonb, '[]') || coalesce(parked_suspects::jsonb, '[]'))::json
    ) ORDER BY place), '[]') AS lines,
    bool_or(
        ready IS NULL
        AND EXISTS (SELECT 1 FROM noria.ready AS r WHERE r.queue = line.queue AND r.lane = line.lane AND NOT r.suspect)
    )::integer AS contended
FROM line
