-- Jobs that no worker has known what to do with for too long.
-- In: 1 parked before this time; 2 how many at most. Out: one row, JSON [Waiting, …] (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(hex(id), queue, task, state, reply, 0, awaited, family, group_key, placed)) FROM (
    SELECT id, queue, task, state, reply, awaited, family, group_key, placed FROM jobs INDEXED BY parked_since
    WHERE state = 7 AND began <= ?1
    ORDER BY began, id LIMIT ?2
)
