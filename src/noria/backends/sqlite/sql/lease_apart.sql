-- What a lease could have of bound jobs that other workers did not know, or that have crashed their process.
-- In: 1 JSON [[queue, lane], …]; 2 session; 3 how many candidates to name of each.
-- Out: one row, JSON [[place of queue and lane in what was asked, rank, id as hex, gate, family, key, 1 if it is
--     parked, 1 if it is a suspect], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT coalesce(json_group_array(json_array(
    e.key, j.rank, hex(j.id), j.gate, j.family, j.group_key, j.state = 7, j.crashes >= 2
)), '[]')
FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j
WHERE j.id IN (
    SELECT id FROM (
        SELECT rank, id FROM jobs INDEXED BY bound_apart
        WHERE gate IS NOT NULL AND ((state = 2 AND crashes >= 2) OR state = 7)
        AND queue = e.value ->> 0 AND lane = e.value ->> 1
        AND (state = 2 OR task IN (SELECT t.value FROM sessions, json_each(sessions.tasks) AS t WHERE session = ?2))
        ORDER BY rank, id LIMIT ?3
    )
)
