-- What a change of these jobs has to know.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Altering, …] in the same order (see rows.py).
--     The last change by a person is told only as long as nothing has happened to the job since.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    e.value, CASE WHEN j.state < 20 THEN j.state ELSE 0 END, j.queue, j.task, j.unique_key, j.dead, j.session,
    j.priority, j.reply, CASE WHEN j.spent + j.crashes + j.releases + j.snoozes = 0 THEN j.change ->> 'kind' END,
    CASE WHEN j.unique_key IS NOT NULL AND +j.state >= 10 THEN EXISTS (
        SELECT 1 FROM jobs AS other INDEXED BY live_unique
        WHERE other.task = j.task AND other.unique_key = j.unique_key AND other.unique_key IS NOT NULL
        AND other.state < 10
    ) ELSE 0 END
))
FROM jsonb_each(?1) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value)
