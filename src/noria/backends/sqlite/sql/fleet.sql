-- Sessions that have not ended, the oldest first, with the first hundred jobs that each holds.
-- In: 1 now. Out: one row, JSON [[session, card, vitals, opened, beat, seen, overdue, command, held, [id as hex, …]], …],
--     card and vitals as JSON text.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    s.session, s.card, s.vitals, s.opened, s.beat, s.seen, s.deadline < ?1 OR s.deadline > ?1 + 2 * s.ttl, s.command,
    (SELECT count(*) FROM jobs INDEXED BY held WHERE jobs.session = s.session AND jobs.state = 3),
    json((
        SELECT json_group_array(hex(id)) FROM (
            SELECT id FROM jobs INDEXED BY held
            WHERE jobs.session = s.session AND jobs.state = 3
            ORDER BY id LIMIT 100
        )
    ))
)) FROM (SELECT * FROM sessions INDEXED BY sessions_live WHERE ended IS NULL ORDER BY opened, session) AS s
