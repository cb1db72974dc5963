-- Store bodies and results that are too large for their row.
-- In: 1 JSON [[id as hex, part, data as text, data as hex], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes, the last one stays.
INSERT OR REPLACE INTO blobs (id, part, data)
SELECT unhex(value ->> 0), value ->> 1, coalesce(value ->> 2, unhex(value ->> 3))
FROM jsonb_each(?1)
