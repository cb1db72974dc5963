-- Drop the partial results of jobs.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the items.
-- Safe to repeat: yes.
DELETE FROM noria.items
WHERE id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
