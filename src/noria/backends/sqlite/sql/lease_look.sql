-- What a lease could have, without taking it. An idle worker asks no more than this.
-- In: 1 JSON [[queue, lane], …]; 2 session; 3 now; 4 how many candidates to name of each kind.
-- Out: one row
--     alive: whether the session is open;
--     moving: whether time has moved something in these queues that must be promoted, or anywhere that must expire,
--         or a group;
--     next_due: when the next job of these queues becomes due, or null;
--     next_wake: when time changes something in a group, or null;
--     bound, apart: whether lease_bound.sql, or lease_apart.sql, would find something;
--     paused: JSON [queue, …], of all that are;
--     bounds: as limits.sql;
--     lines: JSON, for each queue and lane [parked, ready, suspects], each [[rank, id as hex], …]; ready in order
--         of rank, parked those of the session's tasks; none of them has a group, or needs resources.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    EXISTS (SELECT 1 FROM sessions WHERE session = ?2 AND ended IS NULL) AS alive,
    EXISTS (
        SELECT 1 FROM jsonb_each(?1) AS w CROSS JOIN jobs INDEXED BY due
        WHERE jobs.queue = w.value ->> 0 AND jobs.state IN (1, 6) AND jobs.due <= ?3
    ) OR EXISTS (
        SELECT 1 FROM jobs INDEXED BY lapsing
        WHERE lapse IS NOT NULL AND state IN (1, 2, 4, 6, 7) AND lapse <= ?3
    ) OR EXISTS (SELECT 1 FROM groups INDEXED BY groups_waking WHERE wake IS NOT NULL AND wake <= ?3) AS moving,
    (
        SELECT min((
            SELECT min(due) FROM jobs INDEXED BY due WHERE queue = w.value ->> 0 AND state IN (1, 6)
        )) FROM jsonb_each(?1) AS w
    ) AS next_due,
    (SELECT min(wake) FROM groups INDEXED BY groups_waking WHERE wake IS NOT NULL) AS next_wake,
    EXISTS (
        SELECT 1 FROM jsonb_each(?1) AS w CROSS JOIN jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue = w.value ->> 0 AND lane = w.value ->> 1
    ) AS bound,
    EXISTS (
        SELECT 1 FROM jsonb_each(?1) AS w CROSS JOIN jobs INDEXED BY bound_apart
        WHERE gate IS NOT NULL AND ((state = 2 AND crashes >= 2) OR state = 7)
        AND queue = w.value ->> 0 AND lane = w.value ->> 1
    ) AS apart,
    (SELECT json_group_array(queue) FROM pauses WHERE until IS NULL OR until > ?3) AS paused,
    (SELECT json_group_array(json_array(queue, newest, ageing, max_age, max_length, concurrency, json(high_water))) FROM limits) AS bounds,
    (
        SELECT json_group_array(json_array(
            json(CASE WHEN EXISTS (SELECT 1 FROM jobs INDEXED BY parked_since WHERE state = 7) THEN (
                SELECT json_group_array(json_array(rank, hex(id))) FROM (
                    SELECT rank, id FROM jobs INDEXED BY parked
                    WHERE state = 7 AND queue = w.value ->> 0 AND lane = w.value ->> 1 AND crashes < 2 AND gate IS NULL
                    AND task IN (SELECT t.value FROM sessions, json_each(sessions.tasks) AS t WHERE session = ?2)
                    ORDER BY rank, id LIMIT ?4
                )
            ) ELSE '[]' END),
            json((
                SELECT json_group_array(json_array(rank, hex(id))) FROM (
                    SELECT rank, id FROM jobs INDEXED BY ready
                    WHERE state = 2 AND crashes < 2 AND gate IS NULL AND queue = w.value ->> 0 AND lane = w.value ->> 1
                    ORDER BY rank, id LIMIT ?4
                )
            )),
            json((
                SELECT json_group_array(json_array(rank, hex(id))) FROM (
                    SELECT * FROM (
                        SELECT rank, id FROM jobs INDEXED BY suspects
                        WHERE state = 2 AND crashes >= 2 AND gate IS NULL AND queue = w.value ->> 0 AND lane = w.value ->> 1
                        ORDER BY rank, id LIMIT 1
                    )
                    UNION ALL
                    SELECT * FROM (
                        SELECT rank, id FROM jobs INDEXED BY parked
                        WHERE state = 7 AND queue = w.value ->> 0 AND lane = w.value ->> 1 AND crashes >= 2 AND gate IS NULL
                        AND EXISTS (SELECT 1 FROM jobs INDEXED BY parked_since WHERE state = 7)
                        AND task IN (SELECT t.value FROM sessions, json_each(sessions.tasks) AS t WHERE session = ?2)
                        LIMIT 1
                    )
                )
            ))
        )) FROM jsonb_each(?1) AS w
    ) AS lines
