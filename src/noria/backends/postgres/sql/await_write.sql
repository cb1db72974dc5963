-- Write how many jobs others still wait for, and how those that wait no more go on.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [[id as hex, state, pending, 1 if one did not succeed, rank, due], …]. Out: nothing.
-- Locks: the jobs, as await_look.sql has before.
-- Safe to repeat: yes; a job that does not wait is left alone.
WITH given AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, (v ->> 1)::smallint AS state, (v ->> 2)::integer AS pending,
        (v ->> 3)::boolean AS spoiled, (v ->> 4)::bigint AS rank, (v ->> 5)::bigint AS due
    FROM jsonb_array_elements($1::jsonb) AS e (v)
)
UPDATE noria.jobs AS j
SET state = g.state, pending = g.pending, spoiled = g.spoiled, rank = g.rank,
    turn = CASE WHEN j.family IS NOT NULL THEN g.rank END, due = g.due,
    version = version + (g.state <> 4 OR g.pending = 0)::integer
FROM given AS g
WHERE j.id = g.id AND j.id = ANY (ARRAY(SELECT id FROM given)) AND j.state = 4
