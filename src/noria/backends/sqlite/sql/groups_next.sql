-- The jobs in line that come next in each group: a step along the index for each, however many wait.
-- In: 1 JSON [[family, key, how many], …], each group once.
-- Out: one row, JSON [[place of the group in what was asked, id as hex, queue, lane, turn, priority], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
WITH RECURSIVE walk (place, family, group_key, n, turn, id) AS (
    SELECT key, value ->> 0, value ->> 1, value ->> 2, -9e18, x'' FROM jsonb_each(?1)
    UNION ALL
    SELECT walk.place, walk.family, walk.group_key, walk.n - 1, j.turn, j.id
    FROM walk CROSS JOIN jobs AS j INDEXED BY waiting
    ON j.state = 4 AND j.pending = 0 AND j.family = walk.family AND j.group_key = walk.group_key AND (j.turn, j.id) = (
        SELECT turn, id FROM jobs INDEXED BY waiting
        WHERE state = 4 AND pending = 0 AND family = walk.family AND group_key = walk.group_key AND (turn, id) > (walk.turn, walk.id)
        ORDER BY turn, id LIMIT 1
    )
    WHERE walk.n > 0
)
SELECT json_group_array(json_array(walk.place, hex(walk.id), j.queue, j.lane, j.turn, j.priority))
FROM walk CROSS JOIN jobs AS j ON j.id = walk.id
WHERE walk.id <> x''
