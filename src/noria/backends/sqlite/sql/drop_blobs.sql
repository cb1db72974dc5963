-- Drop the large values of jobs from this part on (0: bodies and results, 1: results).
-- In: 1 JSON [id as hex, …]; 2 the first part. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM blobs
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND part >= ?2
