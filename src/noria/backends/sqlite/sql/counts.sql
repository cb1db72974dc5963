-- Jobs by queue and state, and when the longest waiting job of each queue became eligible.
-- In: nothing. Out: one row, JSON [[queue, state, n, due of the oldest ready job or null], …].
--     The oldest is looked for among the first hundred of each lane, of the bound and of the suspects, so that a long queue costs no
--     more than a short one.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(queue, state, n, CASE WHEN state = 2 AND n > 0 THEN (
    SELECT min(due) FROM (
        SELECT due FROM (
            SELECT due FROM jobs INDEXED BY ready
            WHERE jobs.state = 2 AND jobs.queue = counts.queue AND lane = 0 AND crashes < 2 AND gate IS NULL
            ORDER BY rank, id LIMIT 100
        )
        UNION ALL
        SELECT due FROM (
            SELECT due FROM jobs INDEXED BY ready
            WHERE jobs.state = 2 AND jobs.queue = counts.queue AND lane = 1 AND crashes < 2 AND gate IS NULL
            ORDER BY rank, id LIMIT 100
        )
        UNION ALL
        SELECT due FROM (
            SELECT due FROM jobs INDEXED BY ready
            WHERE jobs.state = 2 AND jobs.queue = counts.queue AND lane = 2 AND crashes < 2 AND gate IS NULL
            ORDER BY rank, id LIMIT 100
        )
        UNION ALL
        SELECT due FROM (
            SELECT due FROM jobs INDEXED BY bound
            WHERE jobs.state = 2 AND jobs.queue = counts.queue AND crashes < 2 AND gate IS NOT NULL LIMIT 100
        )
        UNION ALL
        SELECT due FROM (
            SELECT due FROM jobs INDEXED BY suspects
            WHERE jobs.state = 2 AND jobs.queue = counts.queue AND crashes >= 2 LIMIT 100
        )
    )
) END))
FROM counts
