-- Have jobs wait for others.
-- In: 1 JSON [[id of the job that is waited for, id of the one that waits], …], ids as hex. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
INSERT OR IGNORE INTO awaits (parent, child)
SELECT unhex(value ->> 0), unhex(value ->> 1) FROM jsonb_each(?1)
