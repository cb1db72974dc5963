-- Live sessions: not ended, and renewed in time.
-- In: 1 now. Out: one row, JSON [[session, card, vitals, opened, beat, seen], …], card and vitals as JSON text.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(session, card, vitals, opened, beat, seen) ORDER BY opened, session), '[]')
FROM noria.sessions
WHERE ended IS NULL AND deadline >= $1::bigint
