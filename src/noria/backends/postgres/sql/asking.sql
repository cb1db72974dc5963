-- How many jobs of each queue ask a question.
-- In: nothing.
-- Out: one row, JSON [[queue, n], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, n)), '[]') FROM (
    SELECT j.queue, count(*) AS n
    FROM noria.marks AS m JOIN noria.jobs AS j ON j.id = m.id
    WHERE m.asks IS NOT NULL AND j.state = 3 AND j.session = m.session AND j.starts = m.starts
    GROUP BY j.queue
) AS counted
