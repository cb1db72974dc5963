-- Note which jobs stand for follow-ups of others.
-- In: 1 JSON [[id of the job that asked for them as hex, [id as hex, …]], …]. Out: nothing.
-- Locks: the jobs, as whoever has ended them has before.
-- Safe to repeat: yes.
UPDATE noria.jobs AS j
SET linked = v ->> 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state = 10
