-- How many jobs stand before one in its line: ready ones of its queue, lane and needs, suspects if it is one, or those
-- that wait in its group.
-- In: 1 id; 2 to which number to count. Out: one row: the number, or null if the job waits for something else.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (
    SELECT CASE WHEN +j.state = 4 THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY waiting
            WHERE o.state = 4 AND o.pending = 0 AND o.family = j.family AND o.group_key = j.group_key
            AND (o.turn, o.id) < (j.turn, j.id) LIMIT ?2
        )
    ) WHEN j.crashes >= 2 THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY suspects
            WHERE o.state = 2 AND o.crashes >= 2 AND o.queue = j.queue AND o.lane = j.lane
            AND (o.rank, o.id) < (j.rank, j.id) LIMIT ?2
        )
    ) WHEN j.gate IS NOT NULL THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY bound
            WHERE o.state = 2 AND o.crashes < 2 AND o.gate IS NOT NULL AND o.queue = j.queue AND o.lane = j.lane
            AND o.gate = j.gate AND (o.rank, o.id) < (j.rank, j.id) LIMIT ?2
        )
    ) ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY ready
            WHERE o.state = 2 AND o.crashes < 2 AND o.gate IS NULL AND o.queue = j.queue AND o.lane = j.lane
            AND (o.rank, o.id) < (j.rank, j.id) LIMIT ?2
        )
    ) END
    FROM jobs AS j WHERE j.id = ?1 AND (+j.state = 2 OR +j.state = 4 AND j.pending = 0)
)
