-- Take the places of their groups from jobs: one that could run waits in line, where it was before; one that is due
-- later will wait where that puts it.
-- In: 1 JSON [id as hex, …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE jobs
SET placed = 0, state = CASE state WHEN 2 THEN 4 ELSE state END,
    turn = CASE WHEN state = 2 THEN turn ELSE rank END, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state IN (1, 2, 6)
