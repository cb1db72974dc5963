-- How many jobs of each queue ask a question.
-- In: nothing.
-- Out: one row, JSON [[queue, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, n)), '[]') FROM (
    -- Lateral and limited, so that no plan reads all jobs beside the few that ask.
    SELECT j.queue, count(*) AS n
    FROM noria.marks AS m CROSS JOIN LATERAL (
        SELECT queue FROM noria.jobs
        WHERE id = m.id AND state = 3 AND session = m.session AND starts = m.starts
        LIMIT 1
    ) AS j
    WHERE m.asks IS NOT NULL
    GROUP BY j.queue
) AS counted
