-- Ask for the cancellation of running jobs.
-- In: 1 JSON [id as hex, …]; 2 JSON of the change. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes.
UPDATE noria.jobs AS j
SET inbox = j.session, change = $2::text, version = version + 1
FROM jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
AND j.state = 3 AND j.inbox IS NULL
