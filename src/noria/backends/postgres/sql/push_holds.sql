-- Say of jobs that were just stored for how long they hold their unique keys.
-- In: 1 JSON [[id as hex, unique_key or null if it is there already, hold], …] (see 0002_flow.sql). Out: nothing.
-- Locks: the jobs, which nobody else knows yet.
-- Safe to repeat: yes.
UPDATE noria.jobs AS j
SET unique_key = coalesce(v ->> 1, unique_key), hold = (v ->> 2)::bigint
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
