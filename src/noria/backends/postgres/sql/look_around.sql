-- What a connection has to know of its server.
-- In: nothing.
-- Out: one row (version as a number, encoding of the database, whether it is read-only, process that serves us).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    current_setting('server_version_num')::integer, current_setting('server_encoding'),
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', pg_backend_pid()
