-- How groups stand, for people.
-- In: 1 JSON [[family, key], …]; 2 how many holders to name; 3 to which number those that wait are counted.
-- Out: one row, JSON [[Stand or null, [id of a holder as hex, …], how many wait], …] in the same order (see groups.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    json(CASE WHEN g.family IS NOT NULL THEN json_array(g.taken, g.ready, g.tat, g.closed, g.reason, g.by, g.wake) END),
    json((
        SELECT json_group_array(hex(id)) FROM (
            SELECT id FROM jobs INDEXED BY placed
            WHERE placed = 1 AND state < 10 AND family = e.value ->> 0 AND group_key = e.value ->> 1
            ORDER BY id LIMIT ?2
        )
    )),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM jobs INDEXED BY waiting
            WHERE state = 4 AND pending = 0 AND family = e.value ->> 0 AND group_key = e.value ->> 1
            LIMIT ?3
        )
    )
))
FROM jsonb_each(?1) AS e LEFT JOIN groups AS g ON g.family = e.value ->> 0 AND g.group_key = e.value ->> 1
