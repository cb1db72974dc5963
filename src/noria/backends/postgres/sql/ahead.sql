-- How many jobs stand before one in its line: ready ones of its queue, lane and needs, suspects if it is one, or those
-- that wait in its group.
-- In: 1 id; 2 to which number to count. Out: one row: the number, or null if the job waits for something else.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (
    SELECT CASE WHEN j.state = 4 THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM noria.waiting AS p
            WHERE p.family = j.family AND p.group_key = j.group_key AND (p.turn, p.id) < (j.turn, j.id)
            LIMIT $2::bigint
        ) AS before
    ) WHEN j.gate IS NULL THEN (
        SELECT count(*) FROM (
            SELECT 1 FROM noria.ready AS p
            WHERE p.queue = j.queue AND p.lane = j.lane AND p.suspect = (j.crashes >= 2)
            AND (p.rank, p.id) < (j.rank, j.id)
            LIMIT $2::bigint
        ) AS before
    ) ELSE (
        SELECT count(*) FROM (
            SELECT 1 FROM noria.bound AS p
            WHERE p.queue = j.queue AND p.lane = j.lane AND p.suspect = (j.crashes >= 2) AND p.gate = j.gate
            AND (p.rank, p.id) < (j.rank, j.id)
            LIMIT $2::bigint
        ) AS before
    ) END
    FROM noria.jobs AS j WHERE j.id = $1::uuid AND (j.state = 2 OR j.state = 4 AND j.pending = 0)
)
