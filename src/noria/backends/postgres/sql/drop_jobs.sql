-- Drop jobs whose records are not kept any longer. unplace.sql goes before.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the jobs, as prune_pick.sql has before.
-- Safe to repeat: yes.
DELETE FROM noria.jobs AS j USING jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
