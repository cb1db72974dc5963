-- Write how groups stand.
-- In: 1 JSON [[family, key, taken, ready, tat, closed, reason, by, wake], …]. Out: nothing.
-- Locks: the groups, as groups_lock.sql has before.
-- Safe to repeat: yes.
INSERT INTO noria.groups AS g (family, group_key, taken, ready, tat, closed, reason, by, wake)
SELECT
    v ->> 0, v ->> 1, (v ->> 2)::bigint, (v ->> 3)::bigint, (v ->> 4)::double precision, (v ->> 5)::bigint, v ->> 6,
    v ->> 7, (v ->> 8)::bigint
FROM jsonb_array_elements($1::jsonb) AS e (v)
ON CONFLICT (family, group_key) DO UPDATE SET
    taken = excluded.taken, ready = excluded.ready, tat = excluded.tat, closed = excluded.closed,
    reason = excluded.reason, by = excluded.by, wake = excluded.wake
