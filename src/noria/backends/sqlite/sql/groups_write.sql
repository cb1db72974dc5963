-- Write how groups stand.
-- In: 1 JSON [[family, key, taken, ready, tat, closed, reason, by, wake], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
INSERT OR REPLACE INTO groups (family, group_key, taken, ready, tat, closed, reason, by, wake)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8
FROM jsonb_each(?1)
