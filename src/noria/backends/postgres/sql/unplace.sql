-- Take jobs out of the tables that say where they stand, before their rows change.
-- In: 1 JSON [id as hex, …], or rows that begin with one. Out: nothing.
-- Locks: the pointers; the jobs are locked already by whoever looked at them.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT (CASE jsonb_typeof(v) WHEN 'array' THEN v ->> 0 ELSE v #>> '{}' END)::uuid AS id
    FROM jsonb_array_elements($1::jsonb) AS e (v)
), job AS MATERIALIZED (
    SELECT j.id, j.state, j.queue, j.task, j.lane, j.rank, j.due, j.crashes >= 2 AS suspect, j.session, j.prune_at, j.dead,
        j.gate, j.family, j.group_key, j.turn
    FROM asked AS a JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
), unready AS (
    DELETE FROM noria.ready AS p USING job AS j
    WHERE j.state = 2 AND j.gate IS NULL AND p.queue = j.queue AND p.lane = j.lane AND p.suspect = j.suspect
    AND p.rank = j.rank AND p.id = j.id
), unbound AS (
    DELETE FROM noria.bound AS p USING job AS j
    WHERE j.state = 2 AND p.queue = j.queue AND p.lane = j.lane AND p.suspect = j.suspect AND p.gate = j.gate
    AND p.rank = j.rank AND p.id = j.id
), unwaiting AS (
    DELETE FROM noria.waiting AS p USING job AS j
    WHERE j.state = 4 AND p.family = j.family AND p.group_key = j.group_key AND p.turn = j.turn AND p.id = j.id
), undue AS (
    DELETE FROM noria.due AS p USING job AS j
    WHERE j.state IN (1, 6) AND p.queue = j.queue AND p.at = j.due AND p.id = j.id
), unparked AS (
    DELETE FROM noria.parked AS p USING job AS j
    WHERE j.state = 7 AND p.task = j.task AND p.queue = j.queue AND p.lane = j.lane AND p.suspect = j.suspect
    AND p.rank = j.rank AND p.id = j.id
), unkept AS (
    DELETE FROM noria.kept AS p USING job AS j
    WHERE j.state >= 10 AND p.kind = (CASE WHEN j.state = 20 THEN 2 WHEN j.dead THEN 1 ELSE 0 END)::smallint
    AND p.at = j.prune_at AND p.id = j.id
), unfollowing AS (
    DELETE FROM noria.following AS p USING job AS j WHERE j.state = 4 AND p.id = j.id
), succeeds AS (
    DELETE FROM noria.unsuccessful AS p USING job AS j
    WHERE j.state IN (11, 12, 13) AND p.state = j.state AND p.id = j.id
)
DELETE FROM noria.letters AS p USING job AS j
WHERE j.dead AND p.id = j.id
