-- Note that tokens of rated resources were taken.
-- In: 1 JSON [[name, tat], …]. Out: nothing.
-- Locks: the resources, as resources_claim.sql has before.
-- Safe to repeat: yes.
UPDATE noria.resources AS r
SET tat = (v ->> 1)::double precision
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE r.name = v ->> 0 AND r.name = ANY (ARRAY(SELECT w ->> 0 FROM jsonb_array_elements($1::jsonb) AS f (w)))
