-- What starts of these jobs have marked so far.
-- In: 1 JSON [id as hex, …].
-- Out: one row, JSON [_Marked or null, …] in the same order (see marks.py).
-- Locks: reads only; whoever writes them has locked the jobs.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(CASE WHEN m.id IS NOT NULL THEN json_build_array(
    e.id, m.session, m.starts, m.progress, m.note, m.noted, m.asks, m.emitted, m.said
) END ORDER BY place), '[]')
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place)
LEFT JOIN noria.marks AS m ON m.id = e.id::uuid
