-- Jobs of these queues whose time has come.
-- In: 1 JSON [queue, …]; 2 now; 3 how many at most. Out: one row, JSON [Due, …] (see rows.py).
-- Locks: reads only; the write transaction it runs in keeps the answer true.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(hex(id), queue, state, family, group_key, placed)) FROM (
    SELECT jobs.id, jobs.queue, jobs.state, jobs.family, jobs.group_key, jobs.placed
    FROM jsonb_each(?1) AS q CROSS JOIN jobs INDEXED BY due
    WHERE jobs.queue = q.value AND jobs.state IN (1, 6) AND jobs.due <= ?2
    LIMIT ?3
)
