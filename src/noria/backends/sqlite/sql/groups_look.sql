-- How groups stand.
-- In: 1 JSON [[family, key], …]. Out: one row, JSON [Stand or null, …] in the same order (see groups.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(CASE WHEN g.family IS NOT NULL THEN
    json_array(g.taken, g.ready, g.tat, g.closed, g.reason, g.by, g.wake)
END)
FROM jsonb_each(?1) AS e LEFT JOIN groups AS g ON g.family = e.value ->> 0 AND g.group_key = e.value ->> 1
