-- Drop the oldest partial results of jobs.
-- In: 1 JSON [[id as hex, the first offset to keep], …]. Out: nothing.
-- Locks: the items; the jobs are locked before.
-- Safe to repeat: yes.
DELETE FROM noria.items AS i
USING jsonb_array_elements($1::jsonb) AS e (v)
WHERE i.id = (v ->> 0)::uuid AND i.n < (v ->> 1)::bigint
