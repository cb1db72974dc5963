-- What a change of these jobs has to know.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Altering, …] in the same order (see rows.py).
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT hex, hex::uuid AS id, place FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (hex, place)
), found AS MATERIALIZED (
    SELECT j.id, j.state, j.queue, j.task, j.unique_key, j.dead, j.session, j.starts, j.priority, j.due, j.expires,
        j.deadline, j.hold, j.spent, j.crashes, j.releases, j.snoozes, j.reply, j.change, j.extras, j.awaited,
        j.family, j.group_key, j.placed, j.pending
    FROM (SELECT DISTINCT id FROM asked) AS a JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
    ORDER BY j.id
    FOR UPDATE OF j
)
SELECT coalesce(json_agg(CASE
    WHEN j.id IS NULL OR j.state >= 20 THEN json_build_array(a.hex, 0, (j.id IS NOT NULL)::integer)
    ELSE json_build_array(
        a.hex, j.state, 0, j.queue, j.task,
        CASE WHEN j.hold IS NULL OR j.hold = 0 AND j.starts = 0 THEN j.unique_key END,
        CASE WHEN j.state >= 10 AND (j.hold IS NULL OR j.hold = 0 AND j.starts = 0) THEN (
            SELECT json_build_array(noria.hex(k.id), k.hold) FROM noria.jobs AS k
            WHERE k.task = j.task AND k.live_key = j.unique_key
        ) END,
        j.dead::integer, j.session, j.starts, j.priority, j.due, j.expires, j.deadline,
        (j.spent + j.crashes + j.snoozes > 0)::integer, j.reply,
        CASE WHEN j.spent + j.crashes + j.releases + j.snoozes = 0 THEN j.change END, j.extras,
        (m.asks IS NOT NULL AND m.starts = j.starts AND m.session = j.session)::integer, j.awaited::integer,
        j.family, j.group_key, (j.placed AND j.state < 10)::integer, j.pending
    )
END ORDER BY a.place), '[]')
FROM asked AS a LEFT JOIN found AS j ON j.id = a.id LEFT JOIN noria.marks AS m ON m.id = j.id
