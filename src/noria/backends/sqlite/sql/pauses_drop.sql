-- Drop pauses that are over; until then readers pass them over.
-- In: 1 now. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM pauses
WHERE until <= ?1
