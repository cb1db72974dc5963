-- Give jobs that wait, and were never leased, the arguments and times of others.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, state, rank, due, expires, deadline, lapse, body as text, body as hex, codec], …].
-- Out: nothing.
-- Locks: the jobs, as claim_look.sql has before.
-- Safe to repeat: yes; a job that was leased or has ended is left alone.
UPDATE noria.jobs AS j
SET state = (v ->> 1)::smallint, rank = (v ->> 2)::bigint,
    turn = CASE WHEN j.family IS NOT NULL THEN (v ->> 2)::bigint END, due = (v ->> 3)::bigint, expires = (v ->> 4)::bigint,
    deadline = (v ->> 5)::bigint, lapse = (v ->> 6)::bigint, body = v ->> 7, body_bytes = decode(v ->> 8, 'hex'),
    codec = v ->> 9, version = version + 1
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE j.id = (v ->> 0)::uuid AND j.id = ANY (ARRAY(SELECT (w ->> 0)::uuid FROM jsonb_array_elements($1::jsonb) AS f (w)))
AND j.state IN (1, 2, 4) AND j.starts = 0
