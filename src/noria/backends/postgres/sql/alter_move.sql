-- Have jobs that wait do so in another queue, with the rank and the time bound that it gives them.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, rank, lapse], …]; 2 queue; 3 JSON of the change. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE noria.jobs AS j
SET queue = $2::text, change = $3::text, rank = (v ->> 1)::bigint, turn = (v ->> 1)::bigint,
    lapse = (v ->> 2)::bigint, version = version + 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (1, 2, 4, 6, 7)
