-- Write documents; each gets a new version.
-- In: 1 JSON [[kind, name, expires, data as text, data as hex], …], each name once. Out: nothing.
-- Locks: the write transaction it runs in, in which their versions were looked at.
-- Safe to repeat: yes; the versions are others then.
INSERT OR REPLACE INTO board (kind, name, expires, data)
SELECT value ->> 0, value ->> 1, value ->> 2, coalesce(value ->> 3, unhex(value ->> 4))
FROM jsonb_each(?1)
