-- What earlier starts have left for the next ones of their jobs.
-- In: 1 JSON [id as hex, …].
-- Out: one row, JSON [[checkpoint as hex or null, question or null] or null, …] in the same order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(CASE WHEN m.id IS NOT NULL THEN json_array(hex(m.checkpoint), m.asks) END)
FROM jsonb_each(?1) AS e LEFT JOIN marks AS m ON m.id = unhex(e.value)
