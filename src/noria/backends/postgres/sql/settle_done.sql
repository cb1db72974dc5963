-- Record starts that succeeded, each if its fence holds; records that nobody wants to keep become traces, unless
-- somebody waits for the outcome who may not hear of it.
-- In: 1 JSON [[id as hex, starts, result as text, result as hex, codec, 1 if a hint
--     can tell the result], …], each fence once; 2 session; 3 now;
--     4 how long records are kept; 5 how long traces.
-- Out: one row
--     homes: JSON [[queue, task, 1 if erased, n], …] of those that were done;
--     replies: JSON [[place from 1, channel], …] of those whose outcome somebody waits for;
--     misses: JSON [[place from 1, 2 if it was ended before by this session, else 0], …] of those that were not done;
--     parents: JSON [place from 1, …] of those for which other jobs wait;
--     kept: how many records of ended jobs there were; stale: whether some of them may go;
--     bounds: as limits.sql;
--     bound: JSON [[place from 1, family or null, key or null, gate], …] of those that have groups or needs, or null.
-- Locks: the session, so that its end waits; then the jobs; and, shared, reply channels on which nobody hears.
-- Safe to repeat: yes; only a start that this session holds is changed.
WITH alive AS MATERIALIZED (
    SELECT 1 FROM noria.sessions WHERE session = $2::bigint AND ended IS NULL FOR SHARE
), asked AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, (v ->> 1)::bigint AS starts, v ->> 2 AS result, decode(v ->> 3, 'hex') AS result_bytes,
        v ->> 4 AS codec, (v ->> 5)::boolean AS told, place
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), done AS (
    UPDATE noria.jobs AS j
    SET (state, result, result_bytes, body, body_bytes, extras, correlation_id, change, log, live_key) = (
            SELECT
                CASE WHEN gone THEN 20 ELSE 10 END, CASE WHEN NOT gone THEN a.result END,
                CASE WHEN NOT gone THEN a.result_bytes END, CASE WHEN gone THEN '' ELSE j.body END,
                CASE WHEN NOT gone THEN j.body_bytes END, CASE WHEN NOT gone THEN j.extras END,
                CASE WHEN NOT gone THEN j.correlation_id END, CASE WHEN NOT gone THEN j.change END,
                CASE WHEN NOT gone THEN j.log END, CASE WHEN j.hold > 0 AND NOT gone THEN j.live_key END
            FROM (
                SELECT CASE
                    WHEN j.keep <> 0 OR j.keep IS NULL THEN false
                    WHEN j.reply IS NULL THEN true
                    WHEN NOT a.told THEN false
                    -- Whoever hears on a reply channel holds its lock: see hear_outcomes.sql.
                    ELSE NOT pg_try_advisory_xact_lock_shared(hashtextextended(j.reply, 0))
                END AS gone OFFSET 0
            ) AS e
        ),
        result_codec = a.codec,
        prune_at = $3::bigint + CASE WHEN j.keep = 0 THEN $5::bigint ELSE coalesce(j.keep, $4::bigint) END,
        finished = $3::bigint, failure = NULL, inbox = NULL, version = version + 1
    FROM alive CROSS JOIN asked AS a
    WHERE j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
    AND j.starts = a.starts AND j.session = $2::bigint AND j.state = 3
    RETURNING a.place, j.id, j.queue, j.task, j.reply, j.prune_at, (j.state = 20)::integer AS erased, j.awaited,
        j.family, j.group_key, j.gate
), unheld AS (
    DELETE FROM noria.held AS h USING done AS d WHERE h.session = $2::bigint AND h.id = d.id
), kept AS (
    INSERT INTO noria.kept (kind, at, id) SELECT 2 * erased, prune_at, id FROM done
)
SELECT
    (
        SELECT coalesce(json_agg(json_build_array(queue, task, erased, n)), '[]') FROM (
            SELECT queue, task, erased, count(*) AS n FROM done GROUP BY queue, task, erased
        ) AS homes
    ) AS homes,
    (SELECT coalesce(json_agg(json_build_array(place, reply)), '[]') FROM done WHERE reply IS NOT NULL) AS replies,
    (
        SELECT coalesce(json_agg(json_build_array(a.place, noria.fence(a.id, $2::bigint, a.starts))), '[]')
        FROM asked AS a LEFT JOIN done AS d ON d.place = a.place WHERE d.place IS NULL
    ) AS misses,
    (SELECT coalesce(json_agg(place), '[]') FROM done WHERE awaited) AS parents,
    (SELECT coalesce(sum(CASE state WHEN -1 THEN -n ELSE n END), 0)::bigint FROM noria.counts
        WHERE state >= 10 OR state = -1) AS kept,
    EXISTS (SELECT 1 FROM noria.kept WHERE kind = 0 AND at <= $3::bigint)::integer AS stale,
    (SELECT coalesce(json_agg(json_build_array(queue, newest, ageing, max_age, max_length, concurrency, high_water)), '[]') FROM noria.limits) AS bounds,
    (SELECT json_agg(json_build_array(place, family, group_key, gate)) FROM done WHERE gate IS NOT NULL) AS bound
