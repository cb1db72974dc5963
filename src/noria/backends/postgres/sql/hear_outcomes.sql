-- Say that this connection hears on a reply channel: for as long as it lives it holds the channel's lock.
-- In: 1 reply channel. Out: one row, whether it has the lock: the connection before may still have it.
-- Locks: the channel, until the connection ends; it never waits.
-- Safe to repeat: yes.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0))
