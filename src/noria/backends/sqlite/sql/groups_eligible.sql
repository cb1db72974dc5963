-- Jobs of groups that have a place and do not run yet.
-- In: 1 JSON [[family, key], …]. Out: one row, JSON [[place of the group in what was asked, id as hex, queue], …].
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(e.key, hex(j.id), j.queue))
FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j INDEXED BY placed
ON j.placed = 1 AND j.state < 10 AND j.family = e.value ->> 0 AND j.group_key = e.value ->> 1
WHERE +j.state = 2
