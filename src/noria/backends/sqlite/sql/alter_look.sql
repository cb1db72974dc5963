-- What a change of these jobs has to know.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Altering, …] in the same order (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(CASE
    WHEN j.id IS NULL OR j.state >= 20 THEN json_array(e.value, 0, j.id IS NOT NULL)
    ELSE json_array(
        e.value, j.state, 0, j.queue, j.task,
        CASE WHEN j.hold IS NULL OR j.hold = 0 AND j.starts = 0 THEN j.unique_key END,
        json(CASE WHEN j.unique_key IS NOT NULL AND +j.state >= 10 AND (j.hold IS NULL OR j.hold = 0 AND j.starts = 0) THEN (
            SELECT json_array(hex(k.id), k.hold) FROM jobs AS k INDEXED BY live_unique
            WHERE k.task = j.task AND k.unique_key = j.unique_key AND k.unique_key IS NOT NULL
            AND CASE WHEN k.hold > 0 THEN k.state < 20 ELSE k.state < 10 AND (k.hold IS NULL OR k.hold = 0 AND k.starts = 0) END
        ) END),
        j.dead, j.session, j.starts, j.priority, j.due, j.expires, j.deadline,
        j.spent + j.crashes + j.snoozes > 0, j.reply,
        CASE WHEN j.spent + j.crashes + j.releases + j.snoozes = 0 THEN j.change END, j.extras,
        m.asks IS NOT NULL AND m.starts = j.starts AND m.session = j.session, j.awaited,
        j.family, j.group_key, j.placed AND +j.state < 10, j.pending
    )
END)
FROM jsonb_each(?1) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value) LEFT JOIN marks AS m ON m.id = j.id
