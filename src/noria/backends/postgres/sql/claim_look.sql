-- What a job that wants the keys of these has to know of them.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Held, …] of those that still hold a key (see holders.py).
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT hex::uuid AS id FROM jsonb_array_elements_text($1::jsonb) AS e (hex)
), found AS MATERIALIZED (
    SELECT j.id, j.state, j.starts, j.queue, j.task, j.reply, j.hold, j.priority, j.due, j.created, j.expires, j.deadline,
        j.codec, j.body, j.body_bytes, j.live_key, j.family, j.group_key, j.placed, j.pending
    FROM (SELECT DISTINCT id FROM asked) AS a JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
    ORDER BY j.id
    FOR UPDATE OF j
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), state, starts, queue, task, reply, hold, priority, due, created, expires, deadline, codec, body,
    encode(body_bytes, 'hex'), null, family, group_key, (placed AND state < 10)::integer,
    pending
)), '[]')
FROM found WHERE live_key IS NOT NULL
