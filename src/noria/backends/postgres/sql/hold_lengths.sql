-- Have others wait who add to queues of bounded length, until this transaction has ended.
-- In: 1 JSON [key, …], one for each queue. Out: one row (how many).
-- Locks: the keys, in their order; it waits for others that have them.
-- Safe to repeat: yes.
SELECT count(held) FROM (
    SELECT pg_advisory_xact_lock(hashtextextended(key, 1))::text AS held
    FROM (SELECT key FROM jsonb_array_elements_text($1::jsonb) AS e (key) ORDER BY key) AS sorted
    OFFSET 0
) AS keys
