-- How many jobs came and went in each span of time.
-- In: 1 first minute; 2 the minute after the last; 3 minutes of a span.
-- Out: one row, JSON [[minute in which the span begins, queue, task, {word: n, …}], …] in this order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(span, queue, task, json(words))) FROM (
    SELECT span, queue, task, json_group_object(word, n) AS words FROM (
        SELECT minute / ?3 * ?3 AS span, queue, task, word, sum(n) AS n FROM flow
        WHERE minute >= ?1 AND minute < ?2 AND minute > 0
        GROUP BY span, queue, task, word
    )
    GROUP BY span, queue, task ORDER BY span, queue, task
)
