-- Jobs by task and state.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [[task, state, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(task, state, n)) FROM (
    SELECT j.task, j.state, count(*) AS n
    FROM json_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
    GROUP BY j.task, j.state
)
