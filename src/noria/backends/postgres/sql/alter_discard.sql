-- Count failed jobs as dead letters no more; their records are kept like those of other ended jobs.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [id as hex, …]; 2 prune_at; 3 JSON of the change. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes.
UPDATE noria.jobs AS j
SET dead = false, prune_at = $2::bigint, change = $3::text, version = version + 1
FROM jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
AND j.state = 11 AND j.dead
