-- Store bodies and results that are too large for their row.
-- In: 1 JSON [[key, data as text, data as hex], …]. Out: nothing.
-- Locks: the write transaction it runs in, in which the keys were chosen.
-- Safe to repeat: yes, the last one stays.
INSERT OR REPLACE INTO blobs (key, data)
SELECT value ->> 0, coalesce(value ->> 1, unhex(value ->> 2))
FROM jsonb_each(?1)
