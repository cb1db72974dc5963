-- Jobs by task and state.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [[task, state, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(task, state, n)), '[]') FROM (
    SELECT j.task, CASE WHEN j.state = 3 AND m.asks IS NOT NULL THEN 5 ELSE j.state END AS state, count(*) AS n
    FROM jsonb_array_elements_text($1::jsonb) AS e (id) JOIN noria.jobs AS j ON j.id = e.id::uuid
        AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
    LEFT JOIN noria.marks AS m ON m.id = j.id AND m.session = j.session AND m.starts = j.starts
    GROUP BY 1, 2
) AS kin
