-- What a namespace holds.
-- In: nothing; `noria.` is the namespace.
-- Out: one row (whether there is such a schema, whether our table of versions is in it, how many other tables are).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    count(*) FILTER (WHERE n.oid IS NOT NULL) > 0,
    to_regclass('noria.jobs') IS NOT NULL AND EXISTS (
        SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('noria.meta') AND attname = 'version' AND attnum > 0
    ),
    (SELECT count(*) FROM pg_class AS c WHERE c.relnamespace = max(n.oid::bigint)::oid AND c.relkind IN ('r', 'v', 'm', 'p'))
FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS n ON n.nspname = trim(both '"' from split_part('noria.meta', '.', 1))
