-- End a session, if it still stands where its would-be ender saw it. session_lock.sql goes before.
-- In: 1 session; 2 its beat, or null for any; 3 now; 4 JSON [[id as hex, starts], …] of starts that had begun, or null
--     if unknown; 5 JSON of the evidence, or null; 6 JSON as 4, [] for null.
-- Out: nothing; the number of rows is 0 if it was not ended by this.
-- Locks: the session.
-- Safe to repeat: yes, the first one stands.
UPDATE noria.sessions AS s
SET ended = $3::bigint, started = $4::text, evidence = $5::text, owing = true, crashed = c.crashed, released = c.released
FROM (
    SELECT
        count(*) FILTER (WHERE $4::text IS NULL OR b.id IS NOT NULL) AS crashed,
        count(*) FILTER (WHERE $4::text IS NOT NULL AND b.id IS NULL) AS released
    FROM noria.held AS h
    JOIN noria.jobs AS j ON j.id = h.id AND j.session = h.session AND j.state = 3
    LEFT JOIN (
        SELECT DISTINCT (v ->> 0)::uuid AS id, (v ->> 1)::bigint AS starts FROM jsonb_array_elements($6::jsonb) AS e (v)
    ) AS b ON b.id = j.id AND b.starts = j.starts
    WHERE h.session = $1::bigint
) AS c
WHERE s.session = $1::bigint AND s.ended IS NULL AND ($2::bigint IS NULL OR s.beat = $2::bigint)
