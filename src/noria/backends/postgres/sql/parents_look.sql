-- How the jobs stand that others are to wait for.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [state, …] in the same order; 0 if there is none; of an erased record 10
--     if it had succeeded, else 12.
-- Locks: reads only; what it says may have changed when it is read: see parents_hold.sql.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(CASE
    WHEN j.id IS NULL THEN 0
    WHEN j.state = 20 THEN CASE WHEN j.spoiled THEN 12 ELSE 10 END
    ELSE j.state
END ORDER BY place), '[]')
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place)
LEFT JOIN noria.jobs AS j ON j.id = e.id::uuid
    AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
