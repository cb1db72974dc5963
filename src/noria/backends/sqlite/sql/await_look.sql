-- What has to be known of jobs that wait for others.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Waiter, …] of those that do wait (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    e.value, j.queue, j.task, j.lane, j.reply, j.pending, j.spoiled, j.extras ->> 'on', j.priority, j.due, j.awaited,
    j.family, j.group_key
))
FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
WHERE +j.state = 4 AND j.pending > 0
