-- Jobs that a session holds.
-- In: 1 session; 2 JSON [[id as hex, starts], …] to leave out; 3 how many at most.
-- Out: one row, JSON [Running, …] (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    1, lower(hex(id)), starts, queue, task, reply, CASE WHEN cancelling THEN coalesce(change ->> 'note', '') END,
    spent, attempts, crashes, crash_budget, releases, snoozes, rank, priority, due, expires, deadline, began,
    awaited, family, group_key, gate
)) FROM (
    SELECT * FROM jobs INDEXED BY held
    WHERE session = ?1 AND state = 3
    AND (id, starts) NOT IN (SELECT unhex(value ->> 0), value ->> 1 FROM jsonb_each(?2))
    ORDER BY id LIMIT ?3
)
