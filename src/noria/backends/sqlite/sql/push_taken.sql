-- Which of these ids are stored, and which jobs hold these unique keys.
-- In: 1 JSON [[id, task, unique_key or null], …], ids as hex.
-- Out: one row, JSON [Taken, …] in the same order (see taken.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(s.id IS NOT NULL, CASE s.state WHEN 20 THEN s.body END, nullif(hex(k.id), ''), k.hold))
FROM jsonb_each(?1) AS e
LEFT JOIN jobs AS s ON s.id = unhex(e.value ->> 0)
LEFT JOIN jobs AS k INDEXED BY live_unique ON k.task = e.value ->> 1 AND k.unique_key = e.value ->> 2
    AND k.unique_key IS NOT NULL
    AND CASE WHEN k.hold > 0 THEN k.state < 20 ELSE k.state < 10 AND (k.hold IS NULL OR k.hold = 0 AND k.starts = 0) END
