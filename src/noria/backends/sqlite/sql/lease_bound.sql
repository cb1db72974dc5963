-- What a lease could have of bound jobs, without taking it: the first of each line, which are of those that need the
-- same. Each step of the recursion finds the next line by the index.
-- In: 1 JSON [[queue, lane], …]; 2 how many candidates to name of each.
-- Out: one row, JSON [[place of queue and lane in what was asked, gate, [[rank, id as hex, family, key], …]], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
WITH RECURSIVE lines (place, queue, lane, gate) AS (
    SELECT key, value ->> 0, value ->> 1, (
        SELECT gate FROM jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue = value ->> 0 AND lane = value ->> 1
        ORDER BY gate LIMIT 1
    ) FROM jsonb_each(?1)
    UNION ALL
    SELECT lines.place, lines.queue, lines.lane, (
        SELECT gate FROM jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue = lines.queue AND lane = lines.lane
        AND gate > lines.gate
        ORDER BY gate LIMIT 1
    ) FROM lines WHERE lines.gate IS NOT NULL
)
SELECT json_group_array(json_array(place, gate, json((
    SELECT json_group_array(json_array(rank, hex(id), family, group_key)) FROM (
        SELECT rank, id, family, group_key FROM jobs INDEXED BY bound
        WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL AND queue = lines.queue AND lane = lines.lane
        AND gate = lines.gate
        ORDER BY rank, id LIMIT ?2
    )
))))
FROM lines WHERE gate IS NOT NULL
