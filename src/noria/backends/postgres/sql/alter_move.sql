-- Have jobs that wait do so in another queue, with the rank that they have.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [id as hex, …]; 2 queue; 3 JSON of the change. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE noria.jobs AS j
SET queue = $2::text, change = $3::text, version = version + 1
FROM jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
AND j.state IN (1, 2, 6, 7)
