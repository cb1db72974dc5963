-- Give jobs other arguments.
-- In: 1 JSON [[id as hex, body as text, body as hex], …]; 2 codec. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE noria.jobs AS j
SET body = v ->> 1, body_bytes = decode(v ->> 2, 'hex'), codec = $2::text
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (1, 2, 4, 6, 7)
