-- The jobs in line that come next in each group: a step along the index for each, however many wait.
-- In: 1 JSON [[family, key, how many], …], each group once.
-- Out: one row, JSON [[place of the group in what was asked, id as hex, queue, lane, turn, priority], …]. Where somebody
--     else has locked one of them nobody goes past it: an empty id is the last of the group then.
-- Locks: the jobs, as far as they are free; the groups are locked before.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT v ->> 0 AS family, v ->> 1 AS group_key, (v ->> 2)::bigint AS n, place - 1 AS place
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), line AS MATERIALIZED (
    SELECT a.place, w.turn, w.id
    FROM asked AS a CROSS JOIN LATERAL (
        SELECT w.turn, w.id FROM noria.waiting AS w
        WHERE w.family = a.family AND w.group_key = a.group_key
        ORDER BY w.turn, w.id LIMIT a.n
    ) AS w
), free AS MATERIALIZED (
    SELECT j.id, j.queue, j.lane, j.priority
    FROM line AS l JOIN noria.jobs AS j ON j.id = l.id AND j.id = ANY (ARRAY(SELECT id FROM line))
    WHERE j.state = 4
    FOR UPDATE OF j SKIP LOCKED
), told AS (
    SELECT
        l.place, l.turn, l.id, f.id AS free, f.queue, f.lane, f.priority,
        count(*) FILTER (WHERE f.id IS NULL) OVER (PARTITION BY l.place ORDER BY l.turn, l.id) AS barred
    FROM line AS l LEFT JOIN free AS f ON f.id = l.id
)
SELECT coalesce(json_agg(
    CASE
        WHEN free IS NULL THEN json_build_array(place, '', '', 0, 0, 0)
        ELSE json_build_array(place, noria.hex(id), queue, lane, turn, priority)
    END ORDER BY place, turn, id
), '[]')
FROM told WHERE barred = 0 OR (barred = 1 AND free IS NULL)
