-- Jobs by task and state.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [[task, state, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(task, state, n)) FROM (
    SELECT j.task, CASE WHEN j.state = 3 AND m.asks IS NOT NULL THEN 5 ELSE j.state END AS state, count(*) AS n
    FROM json_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
    LEFT JOIN marks AS m ON m.id = j.id AND m.session = j.session AND m.starts = j.starts
    GROUP BY 1, 2
)
