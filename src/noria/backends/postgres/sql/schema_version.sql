-- Which version a schema has, and which one a program must know at least to use it.
-- In: nothing. Out: one row (version, that version; the same where no mark was kept yet).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT version, coalesce((to_jsonb(m) ->> 'runs_from')::integer, version) FROM noria.meta AS m
