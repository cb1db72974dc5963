-- End the pause of a queue.
-- In: 1 queue. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM pauses
WHERE queue = ?1
