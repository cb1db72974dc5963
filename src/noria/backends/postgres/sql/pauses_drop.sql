-- Drop pauses that are over; until then readers pass them over.
-- In: 1 now. Out: nothing.
-- Locks: the pauses.
-- Safe to repeat: yes.
DELETE FROM noria.pauses
WHERE until <= $1::bigint
