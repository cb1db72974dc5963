-- Record ends of starts that did not succeed: of a worker's own, of a session that ended, of leases never heard of.
-- In: 1 JSON [[id as hex, state, spent, crashes, releases, snoozes, rank, due, lapse, dead, finished,
--     prune_at, failure or null to keep the one before, log entry, session,
--     fingerprint of the failure or null], …]; 2 session; 3 how many log entries to keep.
--     A session written back as its negative says that the job was taken from it.
-- Out: nothing. place.sql follows.
-- Locks: the jobs, as whoever looked at them has before.
-- Safe to repeat: yes; only a start that this session holds is changed.
WITH ended AS (
    UPDATE noria.jobs AS j
    SET state = (v ->> 1)::smallint, spent = (v ->> 2)::bigint, crashes = (v ->> 3)::bigint,
        releases = (v ->> 4)::bigint, snoozes = (v ->> 5)::bigint, rank = (v ->> 6)::bigint, due = (v ->> 7)::bigint,
        lapse = CASE WHEN (v ->> 1)::smallint < 10 THEN (v ->> 8)::bigint END, dead = (v ->> 9)::boolean,
        finished = (v ->> 10)::bigint, prune_at = (v ->> 11)::bigint, failure = coalesce(v ->> 12, failure),
        fingerprint = coalesce(v ->> 15, fingerprint), session = (v ->> 14)::bigint, inbox = NULL,
        live_key = CASE WHEN (v ->> 1)::smallint < 10 OR hold > 0 THEN live_key END, version = version + 1,
        log = CASE
            WHEN log IS NULL THEN ARRAY[v ->> 13]
            WHEN cardinality(log) < $3::integer THEN log || (v ->> 13)
            ELSE log[cardinality(log) - $3::integer + 2:] || (v ->> 13)
        END
    FROM jsonb_array_elements($1::jsonb) AS e (v)
    WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
    AND j.state = 3 AND j.session = $2::bigint
    RETURNING j.id
)
DELETE FROM noria.held AS h USING ended AS d
WHERE h.session = $2::bigint AND h.id = d.id
