-- As lease_take.sql, where some of the jobs have groups or needs: hand jobs to a session, count that, and say what its worker needs of them.
-- In: 1 JSON [id as hex, …]; 2 session; 3 now; 4 how many bytes of bodies at most, unless the first has more.
-- Out: one row, JSON [Held, …] in the same order (see rows.py). A job whose time is over is left out; so is one that
--     somebody else has locked.
--     From its start on a job's time is its deadline: it has begun, so `expires` no longer matters.
-- Locks: the session, so that its end waits; then the jobs, as far as they are free. Their pointers are locked before.
-- Safe to repeat: yes; a job that runs already is left alone.
WITH alive AS MATERIALIZED (
    SELECT 1 FROM noria.sessions WHERE session = $2::bigint AND ended IS NULL FOR SHARE
), free AS MATERIALIZED (
    SELECT
        e.place, j.id, j.state, j.starts, j.task, j.queue, j.lane, j.rank, j.codec, j.spent, j.attempts, j.crashes,
        j.crash_budget, j.releases, j.snoozes, j.priority, j.created, j.deadline, j.extras, j.body, j.body_bytes, j.gate,
        coalesce(octet_length(j.body), octet_length(j.body_bytes)) AS size
    FROM alive
    CROSS JOIN jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place)
    JOIN noria.jobs AS j ON j.id = e.id::uuid
        AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
    WHERE j.state IN (2, 7) AND (j.lapse IS NULL OR j.lapse > $3::bigint)
    FOR UPDATE OF j SKIP LOCKED
), fit AS MATERIALIZED (
    SELECT * FROM (SELECT *, sum(size) OVER (ORDER BY place) AS total FROM free) AS summed
    WHERE total <= $4::bigint OR total = size
), taken AS (
    UPDATE noria.jobs AS j
    SET state = 3, session = $2::bigint, starts = j.starts + 1, began = $3::bigint, lapse = NULL, version = version + 1,
        live_key = CASE WHEN j.hold = 0 THEN NULL ELSE j.live_key END
    FROM fit AS f WHERE j.id = f.id
), unready AS (
    DELETE FROM noria.ready AS p USING fit AS f
    WHERE f.state = 2 AND f.gate IS NULL AND p.queue = f.queue AND p.lane = f.lane AND p.suspect = (f.crashes >= 2)
    AND p.rank = f.rank AND p.id = f.id
), unbound AS (
    DELETE FROM noria.bound AS p USING fit AS f
    WHERE f.state = 2 AND p.queue = f.queue AND p.lane = f.lane AND p.suspect = (f.crashes >= 2) AND p.gate = f.gate
    AND p.rank = f.rank AND p.id = f.id
), tokens AS (
    INSERT INTO noria.tokens (gate, id) SELECT gate, id FROM fit WHERE gate > ''
), unparked AS (
    DELETE FROM noria.parked AS p USING fit AS f
    WHERE f.state = 7 AND p.task = f.task AND p.queue = f.queue AND p.lane = f.lane AND p.suspect = (f.crashes >= 2)
    AND p.rank = f.rank AND p.id = f.id
), held AS (
    INSERT INTO noria.held (session, id) SELECT $2::bigint, id FROM fit
), counted AS (
    INSERT INTO noria.count_changes (queue, state, n)
    SELECT queue, 3, count(*) FROM fit GROUP BY queue UNION ALL SELECT queue, state, -count(*) FROM fit GROUP BY queue, state
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), state, starts + 1, task, queue, codec, spent, attempts, crashes, crash_budget, releases, snoozes,
    priority, created, deadline, extras, body, encode(body_bytes, 'hex'), null,
    CASE WHEN starts > 0 THEN (SELECT encode(m.checkpoint, 'hex') FROM noria.marks AS m WHERE m.id = fit.id) END,
    CASE WHEN starts > 0 THEN (SELECT m.asks FROM noria.marks AS m WHERE m.id = fit.id) END
) ORDER BY place), '[]')
FROM fit
