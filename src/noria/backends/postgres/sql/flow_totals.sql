-- How many jobs came and went since the store began.
-- In: nothing. Out: one row, JSON [[queue, task, {word: n, …}], …] in order of queue and task.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, task, words) ORDER BY queue, task), '[]') FROM (
    SELECT queue, task, json_object_agg(word, n) AS words FROM (
        SELECT queue, task, word, sum(n)::bigint AS n FROM noria.flow WHERE minute = 0 GROUP BY queue, task, word
    ) AS by_word
    GROUP BY queue, task
) AS totals
