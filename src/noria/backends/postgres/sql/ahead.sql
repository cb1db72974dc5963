-- How many jobs stand before one in its line: ready ones of its queue and lane, or suspects if it is one.
-- In: 1 id; 2 to which number to count. Out: one row: the number, or null if the job is not queued.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (
    SELECT (
        SELECT count(*) FROM (
            SELECT 1 FROM noria.ready AS p
            WHERE p.queue = j.queue AND p.lane = j.lane AND p.suspect = (j.crashes >= 2)
            AND (p.rank, p.id) < (j.rank, j.id)
            LIMIT $2::bigint
        ) AS before
    )
    FROM noria.jobs AS j WHERE j.id = $1::uuid AND j.state = 2
)
