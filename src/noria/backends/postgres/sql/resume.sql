-- End the pause of a queue.
-- In: 1 queue. Out: nothing.
-- Locks: the pause.
-- Safe to repeat: yes.
DELETE FROM noria.pauses
WHERE queue = $1::text
