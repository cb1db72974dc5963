-- Forget that jobs wait for others that have ended.
-- In: 1 JSON [[id of the one that has ended as hex, …, id of the one that waited as hex], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM awaits
WHERE (parent, child) IN (SELECT unhex(value ->> 0), unhex(value ->> 2) FROM jsonb_each(?1))
