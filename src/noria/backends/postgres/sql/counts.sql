-- Jobs by queue and state, and when the longest waiting job of each queue became eligible.
-- In: nothing. Out: one row, JSON [[queue, state, n, due of the oldest ready job or null], …].
--     The oldest is looked for among the first hundred of each lane and of the suspects, so that a long queue costs no
--     more than a short one.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(queue, state, n, CASE WHEN state = 2 AND n > 0 THEN (
    SELECT min(j.due) FROM (VALUES (0, false), (1, false), (2, false), (0, true), (1, true), (2, true)) AS l (lane, suspect)
    CROSS JOIN LATERAL (
        (
            SELECT r.id FROM noria.ready AS r
            WHERE r.queue = counts.queue AND r.lane = l.lane AND r.suspect = l.suspect
            ORDER BY r.rank, r.id LIMIT 100
        )
        UNION ALL
        (
            SELECT b.id FROM noria.bound AS b
            WHERE b.queue = counts.queue AND b.lane = l.lane AND b.suspect = l.suspect
            LIMIT 100
        )
    ) AS first_ones
    JOIN noria.jobs AS j ON j.id = first_ones.id
) END)), '[]')
FROM noria.counts AS counts
