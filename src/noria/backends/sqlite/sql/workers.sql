-- Live sessions: not ended, and renewed in time.
-- In: 1 now. Out: one row, JSON [[session, card, vitals, opened, beat, seen], …], card and vitals as JSON text.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(session, card, vitals, opened, beat, seen)) FROM (
    SELECT session, card, vitals, opened, beat, seen FROM sessions INDEXED BY sessions_live
    WHERE ended IS NULL AND deadline >= ?1 ORDER BY opened, session
)
