-- What has to be known of jobs that wait for others.
-- In: 1 JSON [id as hex, …]. Out: one row, JSON [Waiter, …] of those that do wait (see rows.py).
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH found AS MATERIALIZED (
    SELECT id, queue, task, lane, reply, pending, spoiled, extras, priority, due, awaited,
        family, group_key
    FROM noria.jobs
    WHERE id = ANY (ARRAY(SELECT e.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS e (id)))
    AND state = 4 AND pending > 0
    ORDER BY id
    FOR UPDATE
)
SELECT coalesce(json_agg(json_build_array(
    noria.hex(id), queue, task, lane, reply, pending, spoiled::integer, noria.peek(extras, 'on'), priority, due,
    awaited::integer, family, group_key
)), '[]')
FROM found
