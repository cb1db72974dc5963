-- Put jobs into the tables that say where they stand, after their rows have changed.
-- In: 1 JSON [id as hex, …], or rows that begin with one. Out: nothing.
-- Locks: only the rows that it adds, and those of places and tokens that a job has no more.
-- Safe to repeat: no; only together with unplace.sql.
WITH asked AS MATERIALIZED (
    SELECT (CASE jsonb_typeof(v) WHEN 'array' THEN v ->> 0 ELSE v #>> '{}' END)::uuid AS id
    FROM jsonb_array_elements($1::jsonb) AS e (v)
), job AS MATERIALIZED (
    SELECT j.id, j.state, j.queue, j.task, j.lane, j.rank, j.due, j.crashes >= 2 AS suspect, j.prune_at, j.dead,
        j.fingerprint, j.finished, j.began, j.gate, j.family, j.group_key, j.turn, j.placed, j.pending
    FROM asked AS a JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
), ready AS (
    INSERT INTO noria.ready (queue, lane, suspect, rank, id)
    SELECT queue, lane, suspect, rank, id FROM job WHERE state = 2 AND gate IS NULL
), bound AS (
    INSERT INTO noria.bound (queue, lane, suspect, gate, rank, id, family, group_key)
    SELECT queue, lane, suspect, gate, rank, id, family, group_key FROM job WHERE state = 2 AND gate IS NOT NULL
), waiting AS (
    INSERT INTO noria.waiting (family, group_key, turn, id)
    SELECT family, group_key, turn, id FROM job WHERE state = 4 AND pending = 0
), places AS (
    DELETE FROM noria.places AS p USING job AS j
    WHERE j.family IS NOT NULL AND (j.state >= 10 OR NOT j.placed) AND p.family = j.family
    AND p.group_key = j.group_key AND p.id = j.id
), tokens AS (
    DELETE FROM noria.tokens AS t USING job AS j
    WHERE j.gate > '' AND j.state <> 3 AND t.gate = j.gate AND t.id = j.id
), due AS (
    INSERT INTO noria.due (queue, at, id) SELECT queue, due, id FROM job WHERE state IN (1, 6)
), parked AS (
    INSERT INTO noria.parked (task, queue, lane, suspect, rank, id, since, bound)
    SELECT task, queue, lane, suspect, rank, id, coalesce(began, 0), gate IS NOT NULL FROM job WHERE state = 7
), following AS (
    INSERT INTO noria.following (id) SELECT id FROM job WHERE state = 4 AND pending > 0
), kept AS (
    INSERT INTO noria.kept (kind, at, id)
    SELECT CASE WHEN state = 20 THEN 2 WHEN dead THEN 1 ELSE 0 END, prune_at, id FROM job WHERE state >= 10
), unsuccessful AS (
    INSERT INTO noria.unsuccessful (state, id) SELECT state, id FROM job WHERE state IN (11, 12, 13)
)
INSERT INTO noria.letters (id, fingerprint, finished)
SELECT id, coalesce(fingerprint, 'unknown'), coalesce(finished, 0) FROM job WHERE dead
