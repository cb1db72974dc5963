-- Which of these jobs match.
-- In: 1 JSON [id as hex, …]; 2 how many at most; 3 JSON [state, …]; 4 JSON [task, …]; 5 JSON [queue, …]; 6 JSON [worker,
--     …], these three as patterns of LIKE, and empty does not filter; 7 tag; 8 correlation id; 9 fingerprint; 10 whether
--     dead; 11 and 12 created from and before, 13 and 14 finished from and before, or null; 15 JSON [[field, pattern,
--     path as JSON [name or place, …], negated], …], of which all must hold.
-- Out: one row, JSON [id as hex, …] in the same order. Terms look into bodies of at most 64 KiB.
-- Locks: reads only.
-- Safe to repeat: yes.
WITH looked AS MATERIALIZED (
    SELECT hex, hex::uuid AS id, place FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (hex, place)
), found AS (
    SELECT l.hex, l.place
    -- Lateral and limited: each job is looked up by its id, whatever the planner thinks of a table that was never analysed.
    FROM looked AS l CROSS JOIN LATERAL (SELECT * FROM noria.jobs WHERE id = l.id LIMIT 1) AS j
    LEFT JOIN noria.sessions AS s ON s.session = abs(j.session)
    WHERE j.state < 20
    AND ($3::jsonb = '[]' OR CASE WHEN j.state = 3 AND EXISTS (
        SELECT 1 FROM noria.marks AS m
        WHERE m.id = j.id AND m.asks IS NOT NULL AND m.session = j.session AND m.starts = j.starts
    ) THEN 5 ELSE j.state END IN (SELECT v::smallint FROM jsonb_array_elements_text($3::jsonb) AS n (v)))
    AND ($4::jsonb = '[]' OR j.task LIKE ANY (ARRAY(SELECT jsonb_array_elements_text($4::jsonb))))
    AND ($5::jsonb = '[]' OR j.queue LIKE ANY (ARRAY(SELECT jsonb_array_elements_text($5::jsonb))))
    AND ($6::jsonb = '[]' OR s.worker LIKE ANY (ARRAY(SELECT jsonb_array_elements_text($6::jsonb))))
    AND ($7::text = '' OR $7::text IN (
        SELECT t FROM json_array_elements_text(coalesce(noria.peek(j.extras, 'tags'), '[]')::json) AS tags (t)
    ))
    AND ($8::text = '' OR j.correlation_id = $8::text)
    AND ($9::text = '' OR (j.fingerprint = $9::text AND j.failure IS NOT NULL))
    AND (NOT $10::boolean OR j.dead)
    AND ($11::bigint IS NULL OR j.created >= $11::bigint)
    AND ($12::bigint IS NULL OR j.created < $12::bigint)
    AND ($13::bigint IS NULL OR j.finished >= $13::bigint)
    AND ($14::bigint IS NULL OR j.finished < $14::bigint)
    AND ($15::jsonb = '[]' OR NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements($15::jsonb) AS t (v)
        WHERE ((v ->> 3)::integer = 1) = coalesce(CASE v ->> 0
            WHEN 'task' THEN j.task LIKE v ->> 1
            WHEN 'queue' THEN j.queue LIKE v ->> 1
            WHEN 'correlation_id' THEN j.correlation_id LIKE v ->> 1
            WHEN 'fingerprint' THEN j.failure IS NOT NULL AND j.fingerprint LIKE v ->> 1
            WHEN 'tag' THEN EXISTS (
                SELECT 1 FROM json_array_elements_text(coalesce(noria.peek(j.extras, 'tags'), '[]')::json) AS tags (g)
                WHERE g LIKE v ->> 1
            )
            WHEN 'group' THEN j.family || '=' || j.group_key LIKE v ->> 1
            WHEN 'worker' THEN s.worker LIKE v ->> 1
            WHEN 'error' THEN
                concat_ws(' ', noria.peek(j.failure, 'type'), noria.peek(j.failure, 'message')) ILIKE v ->> 1
            WHEN 'args' THEN CASE WHEN octet_length(j.body) <= 65536 THEN
                noria.argument(j.body, ARRAY(SELECT jsonb_array_elements_text((v ->> 2)::jsonb))) LIKE v ->> 1
            END
            WHEN 'text' THEN concat_ws(
                ' ', j.task, j.queue, noria.peek(j.failure, 'type'), noria.peek(j.failure, 'message'), j.correlation_id,
                noria.peek(j.extras, 'tags'), CASE WHEN octet_length(j.body) <= 65536 THEN j.body END
            ) ILIKE v ->> 1
        END, false)
    ))
    ORDER BY l.place LIMIT $2::bigint
)
SELECT coalesce(json_agg(hex ORDER BY place), '[]') FROM found
