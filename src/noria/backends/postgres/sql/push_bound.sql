-- As push.sql, where some have a group or need resources: store new jobs; those whose id is stored, or whose unique key a live job has, are left out, and so are those of queues
-- whose limits make a difference to them, unless they follow these already.
-- In: 1 JSON [[id, state, queue, task, lane, rank, priority, due, attempts, crash_budget, codec, body as text,
--     body as hex, reply, unique_key, extras, keep, expires, deadline, lapse, family, group_key, turn, gate], …], ids as hex; what is missing at the
--     end of a row is null. 2 now; 3 whether they follow the limits of their queues.
-- Out: one row, nothing if all are stored, else JSON [id as hex, …] of those that are.
-- Locks: the new rows; it waits for others that are storing the same id or key.
-- Safe to repeat: yes; the second time every id is taken.
WITH given AS MATERIALIZED (
    SELECT
        (v ->> 0)::uuid AS id, (v ->> 1)::smallint AS state, v ->> 2 AS queue, v ->> 3 AS task,
        (v ->> 4)::smallint AS lane, (v ->> 5)::bigint AS rank, (v ->> 6)::integer AS priority,
        (v ->> 7)::bigint AS due, (v ->> 8)::bigint AS attempts, (v ->> 9)::bigint AS crash_budget,
        v ->> 10 AS codec, v ->> 11 AS body, decode(v ->> 12, 'hex') AS body_bytes, v ->> 13 AS reply,
        v ->> 14 AS unique_key, v ->> 15 AS extras, (v ->> 16)::bigint AS keep, (v ->> 17)::bigint AS expires,
        (v ->> 18)::bigint AS deadline, (v ->> 19)::bigint AS lapse, v ->> 20 AS family, v ->> 21 AS group_key,
        (v ->> 22)::bigint AS turn, v ->> 23 AS gate
    FROM jsonb_array_elements($1::jsonb) AS e (v)
), stored AS (
    INSERT INTO noria.jobs (
        id, state, queue, task, lane, rank, priority, due, attempts, crash_budget, codec, body, body_bytes, reply,
        unique_key, live_key, extras, correlation_id, parent_id, keep, expires, deadline, lapse, family,
        group_key, turn, gate, created
    )
    SELECT
        id, state, queue, task, lane, rank, priority, due, attempts, crash_budget, codec, body, body_bytes, reply,
        unique_key, unique_key, extras,
        CASE WHEN extras LIKE '%"correlation_id"%' THEN nullif(noria.peek(extras, 'correlation_id'), '') END,
        CASE WHEN extras LIKE '%"parent_id"%' THEN nullif(noria.peek(extras, 'parent_id'), '') END,
        keep, expires, deadline, lapse, family, group_key, turn, gate, $2::bigint
    FROM given
    WHERE $3::boolean OR queue <> ALL (ARRAY(
        SELECT l.queue FROM noria.limits AS l
        WHERE l.newest > 0 OR coalesce(l.ageing, l.max_age, l.max_length) IS NOT NULL
    ))
    ON CONFLICT DO NOTHING
    RETURNING id, state, queue, lane, rank, due, family, group_key, turn, gate
), ready AS (
    INSERT INTO noria.ready (queue, lane, suspect, rank, id)
    SELECT queue, lane, false, rank, id FROM stored WHERE state = 2 AND gate IS NULL
), bound AS (
    INSERT INTO noria.bound (queue, lane, suspect, gate, rank, id, family, group_key)
    SELECT queue, lane, false, gate, rank, id, family, group_key FROM stored WHERE state = 2 AND gate IS NOT NULL
), waiting AS (
    INSERT INTO noria.waiting (family, group_key, turn, id)
    SELECT family, group_key, turn, id FROM stored WHERE state = 4 AND family IS NOT NULL
), due AS (
    INSERT INTO noria.due (queue, at, id) SELECT queue, due, id FROM stored WHERE state = 1
)
SELECT CASE WHEN count(*) < (SELECT count(*) FROM given) THEN coalesce(json_agg(noria.hex(id)), '[]') END FROM stored
