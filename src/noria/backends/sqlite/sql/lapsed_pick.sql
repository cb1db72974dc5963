-- Jobs that were not started, or cannot end, in time.
-- In: 1 now; 2 how many at most. Out: one row, JSON [Waiting, …] (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(hex(id), queue, task, state, reply, CASE
    WHEN deadline <= ?1 THEN 1
    WHEN expires <= ?1 THEN 0
    ELSE 2
END, awaited, family, group_key, placed)) FROM (
    SELECT id, queue, task, state, reply, deadline, expires, awaited, family, group_key, placed FROM jobs INDEXED BY lapsing
    WHERE lapse IS NOT NULL AND state IN (1, 2, 4, 6, 7) AND lapse <= ?1
    ORDER BY lapse, id LIMIT ?2
)
