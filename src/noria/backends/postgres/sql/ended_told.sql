-- Forget that jobs wait for others that have ended.
-- In: 1 JSON [[id of the one that has ended as hex, …, id of the one that waited as hex], …]. Out: nothing.
-- Locks: the pairs, as ended_pick.sql has before.
-- Safe to repeat: yes.
DELETE FROM noria.awaits AS a USING jsonb_array_elements($1::jsonb) AS e (v)
WHERE a.parent = (v ->> 0)::uuid AND a.child = (v ->> 2)::uuid
