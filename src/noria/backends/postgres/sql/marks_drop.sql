-- Drop what starts of jobs have marked.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the marks.
-- Safe to repeat: yes.
DELETE FROM noria.marks
WHERE id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
