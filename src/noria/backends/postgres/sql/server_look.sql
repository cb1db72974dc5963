-- What a server tells of itself to whoever looks for faults.
-- In: nothing; `noria.` is the namespace.
-- Out: one row, JSON with the names of `database.Look`. Transactions are those of others in this database, as far as this
--     user may see them.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_build_object(
    'synchronous_commit', current_setting('synchronous_commit'),
    'fsync', current_setting('fsync') = 'on',
    'full_page_writes', current_setting('full_page_writes') = 'on',
    'autovacuum', current_setting('autovacuum') = 'on' AND current_setting('track_counts') = 'on',
    'unvacuumed', (
        SELECT coalesce(json_agg(c.relname ORDER BY c.relname), '[]') FROM pg_class AS c
        WHERE c.relnamespace = to_regnamespace(trim(both '"' from split_part('noria.meta', '.', 1)))
        AND c.relkind = 'r' AND c.reloptions @> ARRAY['autovacuum_enabled=false']
    ),
    'connections', (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    'most', current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
    'oldest', (
        SELECT json_build_object(
            'pid', pid, 'program', application_name, 'state', state,
            'seconds', extract(epoch FROM clock_timestamp() - xact_start)
        )
        FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        AND xact_start IS NOT NULL
        ORDER BY xact_start LIMIT 1
    ),
    'time', extract(epoch FROM clock_timestamp())
)
