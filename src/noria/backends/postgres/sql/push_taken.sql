-- Which of these ids are stored, and which live jobs have these unique keys.
-- In: 1 JSON [[id, task, unique_key or null], …], ids as hex.
-- Out: one row, JSON [[1 if the id is stored, id of the live job with the key or null], …] in the same order.
-- Locks: reads only; what it says may have changed when it is read, so whoever asks tries again.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(
    (j.id IS NOT NULL)::integer,
    (SELECT noria.hex(k.id) FROM noria.jobs AS k WHERE k.task = v ->> 1 AND k.live_key = v ->> 2)
) ORDER BY place), '[]')
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
LEFT JOIN noria.jobs AS j ON j.id = (v ->> 0)::uuid
    AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
