-- Record ends of starts that did not succeed: of a worker's own, of a session that ended, of leases never heard of.
-- In: 1 JSON [[id as hex, state, spent, crashes, releases, snoozes, rank, due, lapse, dead, finished,
--     prune_at, failure or null to keep the one before, log entry, session,
--     fingerprint of the failure or null], …]; 2 session; 3 how many log entries to keep.
--     A session written back as its negative says that the job was taken from it.
-- Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; only a start that this session holds is changed.
UPDATE jobs
SET state = e.value ->> 1, spent = e.value ->> 2, crashes = e.value ->> 3, releases = e.value ->> 4,
    snoozes = e.value ->> 5, rank = e.value ->> 6, due = e.value ->> 7, lapse = e.value ->> 8, dead = e.value ->> 9,
    finished = e.value ->> 10, prune_at = e.value ->> 11, failure = coalesce(e.value ->> 12, failure),
    fingerprint = coalesce(e.value ->> 15, fingerprint),
    session = e.value ->> 14, cancelling = 0, version = version + 1,
    log = CASE
        WHEN log IS NULL THEN json_array(json(e.value ->> 13))
        WHEN json_array_length(log) < ?3 THEN json_insert(log, '$[#]', json(e.value ->> 13))
        ELSE json_insert(json_remove(log, '$[0]'), '$[#]', json(e.value ->> 13))
    END
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state = 3 AND +jobs.session = ?2
