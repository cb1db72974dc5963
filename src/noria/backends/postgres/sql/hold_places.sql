-- Be the only one who leases from queues of which only so many jobs may run, until this transaction has ended.
-- In: 1 JSON [[queue, key], …]. Out: one row, JSON [queue, …] of those from which somebody else is just leasing.
-- Locks: the keys, as far as they are free.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(v ->> 0), '[]')
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE NOT pg_try_advisory_xact_lock(hashtextextended(v ->> 1, 1))
