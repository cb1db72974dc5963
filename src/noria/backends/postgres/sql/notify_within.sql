-- Send hints to other processes with a caller's own transaction, when that commits; nothing is set for it.
-- In: 1 JSON [[channel of PostgreSQL, payload], …]. Out: one row (nothing).
-- Locks: the queue of notifications, for the moment of the commit.
-- Safe to repeat: yes; a hint may come twice.
SELECT count(pg_notify(v ->> 0, v ->> 1)) FROM jsonb_array_elements($1::jsonb) AS e (v)
