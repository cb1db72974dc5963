-- What a worker needs of the jobs that it is about to hold.
-- In: 1 JSON [id as hex, …]; 2 now. Out: one row, JSON [Held, …] in the same order (see rows.py).
--     A job whose time is over is left out, whatever index it still stands in.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    hex(j.id), j.state, j.starts + 1, j.task, j.queue, j.codec, j.spent, j.attempts, j.crashes, j.crash_budget,
    j.releases, j.snoozes, j.priority, j.created, j.deadline, j.extras,
    CASE typeof(j.body) WHEN 'text' THEN j.body END,
    CASE typeof(j.body) WHEN 'blob' THEN hex(j.body) END,
    CASE typeof(j.body) WHEN 'integer' THEN j.body END,
    CASE WHEN j.starts > 0 THEN (SELECT nullif(hex(m.checkpoint), '') FROM marks AS m WHERE m.id = j.id) END,
    CASE WHEN j.starts > 0 THEN (SELECT m.asks FROM marks AS m WHERE m.id = j.id) END
))
FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
WHERE j.lapse IS NULL OR j.lapse > ?2
