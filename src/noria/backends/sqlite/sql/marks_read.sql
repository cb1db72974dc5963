-- What starts of these jobs have marked so far.
-- In: 1 JSON [id as hex, …].
-- Out: one row, JSON [_Marked or null, …] in the same order (see marks.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(CASE WHEN m.id IS NOT NULL THEN json_array(
    lower(hex(m.id)), m.session, m.starts, m.progress, m.note, m.noted, m.asks, m.emitted, m.said
) END)
FROM jsonb_each(?1) AS e LEFT JOIN marks AS m ON m.id = unhex(e.value)
