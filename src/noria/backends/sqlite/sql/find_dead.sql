-- As find.sql, among dead letters only.
-- In: 1 only ids before this one; 2 how many rows to look at; 3 how many ids; 4 JSON [state, …]; 5 JSON [task, …];
--     6 JSON [queue, …]; 7 tag; 8 correlation id; 9 and 10 created from and before, or null; empty does not filter.
-- Out: one row (JSON [id as hex, …], how many rows were looked at, the last id that was).
-- Locks: reads only.
-- Safe to repeat: yes.
WITH seen AS MATERIALIZED (
    SELECT id, (
        state < 20 AND (?4 = '[]' OR state IN (SELECT value FROM json_each(?4)))
        AND (?5 = '[]' OR task IN (SELECT value FROM json_each(?5)))
        AND (?6 = '[]' OR queue IN (SELECT value FROM json_each(?6)))
        AND (?7 = '' OR ?7 IN (SELECT value FROM json_each(extras, '$.tags')))
        AND (?8 = '' OR extras ->> 'correlation_id' = ?8)
        AND (?9 IS NULL OR created >= ?9)
        AND (?10 IS NULL OR created < ?10)
    ) AS matches
    FROM jobs INDEXED BY dead_letters
    WHERE dead = 1 AND id < ?1
    ORDER BY id DESC LIMIT ?2
)
SELECT
    (SELECT json_group_array(hex(id)) FROM (SELECT id FROM seen WHERE matches ORDER BY id DESC LIMIT ?3)),
    (SELECT count(*) FROM seen),
    (SELECT hex(min(id)) FROM seen)
