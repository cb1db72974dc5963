-- Which of these ids are stored, and which jobs hold these unique keys.
-- In: 1 JSON [[id, task, unique_key or null], …], ids as hex.
-- Out: one row, JSON [Taken, …] in the same order (see taken.py).
-- Locks: reads only; what it says may have changed when it is read, so whoever asks tries again.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(
    (j.id IS NOT NULL)::integer, CASE j.state WHEN 20 THEN j.body END, noria.hex(k.id), k.hold
) ORDER BY place), '[]')
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
LEFT JOIN noria.jobs AS j ON j.id = (v ->> 0)::uuid
    AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
LEFT JOIN LATERAL (
    SELECT t.id, t.hold FROM noria.jobs AS t WHERE t.task = v ->> 1 AND t.live_key = v ->> 2
) AS k ON true
