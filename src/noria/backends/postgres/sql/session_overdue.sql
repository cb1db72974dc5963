-- Live sessions whose deadline is past, or too far away to be true.
-- In: 1 now. Out: one row, JSON [[session, beat, worker], …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(session, beat, worker)), '[]') FROM noria.sessions
WHERE ended IS NULL AND (deadline < $1::bigint OR deadline > $1::bigint + 2 * ttl)
