-- Which versions documents have. board_claim.sql goes before.
-- In: 1 JSON [[kind, name], …]; 2 now. Out: one row, JSON [version, or 0 if there is none, …] in the same order.
-- Locks: the documents, in the order of their names, so that they stay as they are.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT v ->> 0 AS kind, v ->> 1 AS name, place FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
), found AS MATERIALIZED (
    SELECT b.kind, b.name, b.version, b.expires
    FROM asked AS a JOIN noria.board AS b ON b.kind = a.kind AND b.name = a.name
    ORDER BY b.kind, b.name
    FOR UPDATE OF b
)
SELECT coalesce(
    json_agg(CASE WHEN f.expires IS NULL OR f.expires > $2::bigint THEN coalesce(f.version, 0) ELSE 0 END ORDER BY place),
    '[]'
)
FROM asked AS a LEFT JOIN found AS f ON f.kind = a.kind AND f.name = a.name
