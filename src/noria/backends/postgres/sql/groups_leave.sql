-- Take the places of their groups from jobs: one that could run waits in line, where it was before; one that is due
-- later will wait where that puts it. unplace.sql goes before, place.sql follows.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the jobs, as whoever looked at them has before.
-- Safe to repeat: yes.
UPDATE noria.jobs AS j
SET placed = false, state = CASE state WHEN 2 THEN 4 ELSE state END,
    turn = CASE WHEN state = 2 THEN turn ELSE rank END, version = version + 1
FROM jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
AND j.state IN (1, 2, 6)
