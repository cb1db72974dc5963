-- What a job that wants the keys of these has to know of them.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Held, …] of those that are there (see holders.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    hex(j.id), j.state, j.starts, j.queue, j.task, j.reply, j.hold, j.priority, j.due, j.created, j.expires, j.deadline,
    j.codec,
    CASE typeof(j.body) WHEN 'text' THEN j.body END,
    CASE typeof(j.body) WHEN 'blob' THEN hex(j.body) END,
    CASE typeof(j.body) WHEN 'integer' THEN j.body END,
    j.family, j.group_key, j.placed AND +j.state < 10, j.pending
))
FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
