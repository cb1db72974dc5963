-- How the jobs stand that others are to wait for.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [state, …] in the same order; 0 if there is none; of an erased record 10
--     if it had succeeded, else 12.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(CASE
    WHEN j.id IS NULL THEN 0
    WHEN j.state = 20 THEN CASE WHEN j.spoiled THEN 12 ELSE 10 END
    ELSE j.state
END)
FROM jsonb_each(?1) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value)
