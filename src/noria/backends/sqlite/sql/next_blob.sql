-- The first free key for a large value.
-- In: nothing. Out: one row (key).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT coalesce(max(key), 0) + 1 FROM blobs
