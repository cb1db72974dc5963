-- End a session, if it still stands where its would-be ender saw it.
-- In: 1 session; 2 its beat, or null for any; 3 now; 4 JSON [[id as hex, starts], …] of starts that had begun, or null
--     if unknown; 5 JSON of the evidence, or null; 6 JSON as 4, [] for null.
-- Out: nothing; `changes` is 0 if it was not ended by this.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes, the first one stands.
UPDATE sessions
SET ended = ?3, started = ?4, evidence = ?5, owing = 1,
    crashed = (
        SELECT count(*) FROM jobs INDEXED BY held
        WHERE jobs.session = ?1 AND jobs.state = 3
        AND (?4 IS NULL OR (id, starts) IN (SELECT unhex(value ->> 0), value ->> 1 FROM jsonb_each(?6)))
    ),
    released = (
        SELECT count(*) FROM jobs INDEXED BY held
        WHERE jobs.session = ?1 AND jobs.state = 3 AND ?4 IS NOT NULL
        AND (id, starts) NOT IN (SELECT unhex(value ->> 0), value ->> 1 FROM jsonb_each(?6))
    )
WHERE sessions.session = ?1 AND sessions.ended IS NULL AND (?2 IS NULL OR beat = ?2)
