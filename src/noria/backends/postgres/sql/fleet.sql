-- Sessions that have not ended, the oldest first, with the first hundred jobs that each holds.
-- In: 1 now. Out: one row, JSON [[session, card, vitals, opened, beat, seen, overdue, command, held, [id as hex, …]], …],
--     card and vitals as JSON text.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(json_build_array(
    s.session, s.card, s.vitals, s.opened, s.beat, s.seen,
    (s.deadline < $1::bigint OR s.deadline > $1::bigint + 2 * s.ttl)::integer, s.command,
    (SELECT count(*) FROM noria.held AS h WHERE h.session = s.session),
    (
        SELECT coalesce(json_agg(noria.hex(id) ORDER BY id), '[]') FROM (
            SELECT h.id FROM noria.held AS h WHERE h.session = s.session ORDER BY h.id LIMIT 100
        ) AS first_ones
    )
) ORDER BY s.opened, s.session), '[]')
FROM noria.sessions AS s
WHERE s.ended IS NULL
