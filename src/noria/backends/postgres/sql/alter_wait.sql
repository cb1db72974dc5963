-- Change jobs that wait: when they may run, in which order, until when.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, state, priority, rank, due, expires, lapse, extras], …]; 2 JSON of the change. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; a job that runs or has ended is left alone.
UPDATE noria.jobs AS j
SET state = (v ->> 1)::smallint, priority = (v ->> 2)::integer, rank = (v ->> 3)::bigint, turn = (v ->> 3)::bigint,
    due = (v ->> 4)::bigint,
    expires = (v ->> 5)::bigint, lapse = (v ->> 6)::bigint, extras = v ->> 7, change = $2::text, version = version + 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (1, 2, 4, 6, 7)
