-- Count failed jobs as dead letters no more; their records are kept like those of other ended jobs.
-- In: 1 JSON [id as hex, …]; 2 prune_at; 3 JSON of the change. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET dead = 0, prune_at = ?2, change = ?3, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state = 11 AND dead = 1
