-- Resources.
-- In: 1 JSON [name, …], or null for all. Out: one row, JSON [[name, need as JSON text, tat], …] of those that are known.
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(name, need, tat)) FROM (
    SELECT name, need, tat FROM resources
    WHERE ?1 IS NULL OR name IN (SELECT value FROM json_each(?1))
    ORDER BY name
)
