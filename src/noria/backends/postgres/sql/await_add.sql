-- Have jobs wait for others.
-- In: 1 JSON [[id of the job that is waited for, id of the one that waits], …], ids as hex. Out: nothing.
-- Locks: the new rows.
-- Safe to repeat: yes.
INSERT INTO noria.awaits (parent, child)
SELECT (v ->> 0)::uuid, (v ->> 1)::uuid FROM jsonb_array_elements($1::jsonb) AS e (v)
ON CONFLICT DO NOTHING
