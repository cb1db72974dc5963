-- Have those who may change the jobs that hold these unique keys do so one after the other.
-- In: 1 JSON [[task, unique_key], …]. Out: rows without a value.
-- Locks: the keys, by their hashes, in the order of these, until the transaction ends.
-- Safe to repeat: yes.
SELECT pg_advisory_xact_lock(h) FROM (
    SELECT DISTINCT hashtextextended((v ->> 0) || chr(10) || (v ->> 1), 'noria.jobs'::regclass::oid::bigint) AS h
    FROM jsonb_array_elements($1::jsonb) AS e (v)
    ORDER BY h OFFSET 0
) AS keys
