-- Look again later whether jobs are still there.
-- In: 1 JSON [[id as hex, when], …]. Out: nothing.
-- Locks: the marks, as marks_old.sql has before.
-- Safe to repeat: yes.
UPDATE noria.marks AS m
SET look_at = (v ->> 1)::bigint
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE m.id = (v ->> 0)::uuid
