-- Make jobs ready whose time has come; their rank was fixed when their due time was.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the jobs and their pointers, as due_pick.sql has before.
-- Safe to repeat: yes.
WITH promoted AS (
    UPDATE noria.jobs AS j
    SET state = 2, version = version + 1
    FROM jsonb_array_elements_text($1::jsonb) AS e (id)
    WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
    AND j.state IN (1, 6)
    RETURNING j.id, j.queue, j.lane, j.rank, j.due, j.crashes, j.gate, j.family, j.group_key
), undue AS (
    DELETE FROM noria.due AS d USING promoted AS p WHERE d.queue = p.queue AND d.at = p.due AND d.id = p.id
), bound AS (
    INSERT INTO noria.bound (queue, lane, suspect, gate, rank, id, family, group_key)
    SELECT queue, lane, crashes >= 2, gate, rank, id, family, group_key FROM promoted WHERE gate IS NOT NULL
)
INSERT INTO noria.ready (queue, lane, suspect, rank, id)
SELECT queue, lane, crashes >= 2, rank, id FROM promoted WHERE gate IS NULL
