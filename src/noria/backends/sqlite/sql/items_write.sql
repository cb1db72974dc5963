-- Append partial results.
-- In: 1 JSON [[id as hex, offset, starts, data as hex], …]; 2 now. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: no; marks_read.sql has told which are new.
INSERT INTO items (id, n, at, starts, data)
SELECT unhex(value ->> 0), value ->> 1, ?2, value ->> 2, unhex(value ->> 3)
FROM jsonb_each(?1)
