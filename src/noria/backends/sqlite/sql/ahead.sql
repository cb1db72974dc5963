-- How many jobs stand before one in its line: ready ones of its queue and lane, or suspects if it is one.
-- In: 1 id; 2 to which number to count. Out: one row: the number, or null if the job is not queued.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (
    SELECT CASE WHEN j.crashes < 2 THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY ready
            WHERE o.state = 2 AND o.crashes < 2 AND o.queue = j.queue AND o.lane = j.lane
            AND (o.rank, o.id) < (j.rank, j.id) LIMIT ?2
        )
    ) ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs AS o INDEXED BY suspects
            WHERE o.state = 2 AND o.crashes >= 2 AND o.queue = j.queue AND o.lane = j.lane
            AND (o.rank, o.id) < (j.rank, j.id) LIMIT ?2
        )
    ) END
    FROM jobs AS j WHERE j.id = ?1 AND +j.state = 2
)
