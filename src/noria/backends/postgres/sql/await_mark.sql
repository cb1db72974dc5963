-- Mark jobs that others wait for.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the jobs, as parents_look.sql has before.
-- Safe to repeat: yes.
UPDATE noria.jobs SET awaited = true
WHERE id = ANY (ARRAY(SELECT e.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS e (id)))
