-- How many jobs came and went since the store began.
-- In: nothing. Out: one row, JSON [[queue, task, {word: n, …}], …] in order of queue and task.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(queue, task, json(words))) FROM (
    SELECT queue, task, json_group_object(word, n) AS words FROM flow
    WHERE minute = 0
    GROUP BY queue, task ORDER BY queue, task
)
