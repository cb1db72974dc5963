-- The rules of families.
-- In: 1 JSON [family, …]. Out: one row, JSON [[family, rule as JSON text], …] of those that are known.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(f.family, f.rule))
FROM jsonb_each(?1) AS e CROSS JOIN families AS f ON f.family = e.value
