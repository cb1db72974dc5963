-- Give jobs in line a place of their group: they may be leased.
-- In: 1 JSON [[id as hex, rank], …]. Out: nothing.
-- Locks: the jobs, as groups_next.sql has before, and their pointers.
-- Safe to repeat: yes; only a job in line is changed.
WITH given AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, (v ->> 1)::bigint AS rank FROM jsonb_array_elements($1::jsonb) AS e (v)
), admitted AS (
    UPDATE noria.jobs AS j
    SET state = 2, placed = true, rank = g.rank, version = version + 1
    FROM given AS g
    WHERE j.id = g.id AND j.id = ANY (ARRAY(SELECT id FROM given)) AND j.state = 4
    RETURNING j.id, j.queue, j.lane, j.crashes, j.gate, j.rank, j.turn, j.family, j.group_key
), unwaiting AS (
    DELETE FROM noria.waiting AS w USING admitted AS a
    WHERE w.family = a.family AND w.group_key = a.group_key AND w.turn = a.turn AND w.id = a.id
), places AS (
    INSERT INTO noria.places (family, group_key, id) SELECT family, group_key, id FROM admitted
)
INSERT INTO noria.bound (queue, lane, suspect, gate, rank, id, family, group_key)
SELECT queue, lane, crashes >= 2, gate, rank, id, family, group_key FROM admitted
