-- How many jobs came and went in each span of time.
-- In: 1 first minute; 2 the minute after the last; 3 minutes of a span.
-- Out: one row, JSON [[minute in which the span begins, queue, task, {word: n, …}], …] in this order.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(span, queue, task, words) ORDER BY span, queue, task), '[]') FROM (
    SELECT span, queue, task, json_object_agg(word, n) AS words FROM (
        SELECT minute / $3::bigint * $3::bigint AS span, queue, task, word, sum(n)::bigint AS n FROM noria.flow
        WHERE minute >= $1::bigint AND minute < $2::bigint AND minute > 0
        GROUP BY span, queue, task, word
    ) AS by_word
    GROUP BY span, queue, task
) AS by_span
