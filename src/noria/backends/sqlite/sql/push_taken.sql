-- Which of these ids are stored, and which live jobs have these unique keys.
-- In: 1 JSON [[id, task, unique_key or null], …], ids as hex.
-- Out: one row, JSON [[1 if the id is stored, id of the live job with the key or null], …] in the same order.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    EXISTS (SELECT 1 FROM jobs WHERE id = unhex(e.value ->> 0)),
    CASE WHEN e.value ->> 2 IS NOT NULL THEN (
        SELECT hex(id) FROM jobs INDEXED BY live_unique
        WHERE task = e.value ->> 1 AND unique_key = e.value ->> 2 AND unique_key IS NOT NULL AND state < 10
    ) END
))
FROM jsonb_each(?1) AS e
