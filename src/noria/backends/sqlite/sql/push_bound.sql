-- Store new jobs of which some have a group, or need resources; as push.sql, which has less to read.
-- In: 1 JSON as that of push.sql, with further [family, group_key, turn, gate] at the end of a row. 2 now.
-- Out: nothing. If any id or unique key is taken it fails as a whole, and the transaction goes on without it.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; the second time every id is taken.
INSERT INTO jobs (
    id, state, queue, task, lane, rank, priority, due, attempts, crash_budget, codec, body, reply, unique_key, extras,
    keep, expires, deadline, lapse, family, group_key, turn, gate, created
)
SELECT
    unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10, coalesce(value ->> 11, unhex(value ->> 12)), value ->> 13, value ->> 14,
    value ->> 15, value ->> 16, value ->> 17, value ->> 18, value ->> 19, value ->> 20, value ->> 21, value ->> 22,
    value ->> 23, ?2
FROM jsonb_each(?1)
