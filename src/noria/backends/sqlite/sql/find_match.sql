-- Which of these jobs match.
-- In: 1 JSON [id as hex, …]; 2 how many at most; 3 JSON [state, …]; 4 JSON [task, …]; 5 JSON [queue, …]; 6 JSON [worker,
--     …]; names may have a star, and empty does not filter; 7 tag; 8 correlation id; 9 fingerprint; 10 whether dead;
--     11 and 12 created from and before, 13 and 14 finished from and before, or null; 15 JSON [[field, pattern, path,
--     negated], …], of which all must hold.
-- Out: one row, JSON [id as hex, …] in the same order. Terms look into bodies of at most 64 KiB.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(id) FROM (
    SELECT e.value AS id
    FROM json_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
    WHERE j.state < 20
    AND (?3 = '[]' OR CASE WHEN j.state = 3 AND EXISTS (
        SELECT 1 FROM marks AS m WHERE m.id = j.id AND m.asks IS NOT NULL AND m.session = j.session AND m.starts = j.starts
    ) THEN 5 ELSE j.state END IN (SELECT value FROM json_each(?3)))
    AND (?4 = '[]' OR EXISTS (SELECT 1 FROM json_each(?4) AS n WHERE j.task GLOB n.value))
    AND (?5 = '[]' OR EXISTS (SELECT 1 FROM json_each(?5) AS n WHERE j.queue GLOB n.value))
    AND (?6 = '[]' OR EXISTS (
        SELECT 1 FROM sessions AS s, json_each(?6) AS n WHERE s.session = abs(j.session) AND s.worker GLOB n.value
    ))
    AND (?7 = '' OR ?7 IN (SELECT value FROM json_each(j.extras, '$.tags')))
    AND (?8 = '' OR j.extras ->> 'correlation_id' = ?8)
    AND (?9 = '' OR (j.fingerprint = ?9 AND j.failure IS NOT NULL))
    AND (NOT ?10 OR j.dead = 1)
    AND (?11 IS NULL OR j.created >= ?11)
    AND (?12 IS NULL OR j.created < ?12)
    AND (?13 IS NULL OR j.finished >= ?13)
    AND (?14 IS NULL OR j.finished < ?14)
    AND (?15 = '[]' OR NOT EXISTS (
        SELECT 1 FROM json_each(?15) AS t
        WHERE t.value ->> 3 = coalesce(CASE t.value ->> 0
            WHEN 'task' THEN j.task GLOB t.value ->> 1
            WHEN 'queue' THEN j.queue GLOB t.value ->> 1
            WHEN 'correlation_id' THEN j.extras ->> 'correlation_id' GLOB t.value ->> 1
            WHEN 'fingerprint' THEN j.failure IS NOT NULL AND j.fingerprint GLOB t.value ->> 1
            WHEN 'group' THEN j.family || '=' || j.group_key GLOB t.value ->> 1
            WHEN 'tag' THEN EXISTS (
                SELECT 1 FROM json_each(j.extras, '$.tags') AS g WHERE g.value GLOB t.value ->> 1
            )
            WHEN 'worker' THEN (SELECT worker FROM sessions AS s WHERE s.session = abs(j.session)) GLOB t.value ->> 1
            WHEN 'error' THEN
                concat_ws(' ', j.failure ->> 'type', j.failure ->> 'message') LIKE t.value ->> 1 ESCAPE '\'
            WHEN 'args' THEN (
                SELECT CASE json_type(a.body, t.value ->> 2)
                    WHEN 'true' THEN 'true'
                    WHEN 'false' THEN 'false'
                    WHEN 'null' THEN 'null'
                    ELSE a.body ->> (t.value ->> 2)
                END GLOB t.value ->> 1
                FROM (
                    SELECT CASE typeof(j.body)
                        WHEN 'text' THEN j.body
                        WHEN 'integer' THEN (
                            SELECT data FROM blobs WHERE key = j.body AND typeof(data) = 'text'
                            AND octet_length(data) <= 65536
                        )
                    END AS body
                ) AS a
                WHERE json_valid(a.body)
            )
            WHEN 'text' THEN concat_ws(
                ' ', j.task, j.queue, j.failure ->> 'type', j.failure ->> 'message', j.extras ->> 'correlation_id',
                j.extras ->> 'tags',
                CASE typeof(j.body)
                    WHEN 'text' THEN j.body
                    WHEN 'integer' THEN (
                        SELECT data FROM blobs WHERE key = j.body AND typeof(data) = 'text'
                        AND octet_length(data) <= 65536
                    )
                END
            ) LIKE t.value ->> 1 ESCAPE '\'
        END, 0)
    ))
    LIMIT ?2
)
