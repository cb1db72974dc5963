-- Note what jobs remember that are about to be queued again.
-- In: 1 JSON [[id as hex, JSON of their past lives], …]. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that has not ended is left alone.
UPDATE noria.jobs AS j SET past = v ->> 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (11, 12, 13)
