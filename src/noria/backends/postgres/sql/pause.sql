-- Pause a queue. If it is paused already, only the words and the end are changed.
-- In: 1 queue; 2 now; 3 until, or null; 4 reason; 5 by whom. Out: nothing.
-- Locks: the pause.
-- Safe to repeat: yes.
INSERT INTO noria.pauses (queue, since, until, reason, by)
VALUES ($1::text, $2::bigint, $3::bigint, $4::text, $5::text)
ON CONFLICT (queue) DO UPDATE SET until = excluded.until, reason = excluded.reason, by = excluded.by
