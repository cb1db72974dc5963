-- Look again later whether jobs are still there.
-- In: 1 JSON [[id as hex, when], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE marks
SET look_at = e.value ->> 1
FROM jsonb_each(?1) AS e
WHERE marks.id = unhex(e.value ->> 0)
