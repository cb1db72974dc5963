-- Give jobs in line a place of their group: they may be leased.
-- In: 1 JSON [[id as hex, rank], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; only a job in line is changed.
UPDATE jobs
SET state = 2, placed = 1, rank = e.value ->> 1, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state = 4 AND jobs.pending = 0
