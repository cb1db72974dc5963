-- Pause a queue. If it is paused already, only the words and the end are changed.
-- In: 1 queue; 2 now; 3 until, or null; 4 reason; 5 by whom. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
INSERT INTO pauses (queue, since, until, reason, by)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (queue) DO UPDATE SET until = excluded.until, reason = excluded.reason, by = excluded.by
