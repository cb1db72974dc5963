-- Make sure that documents which are about to be written have a row that can be locked, so that of two writers who
-- both find none only one goes on.
-- In: 1 JSON [[kind, name], …]. Out: nothing.
-- Locks: the new rows, in the order of their names; it waits for others that are making the same.
-- Safe to repeat: yes; a row that stays unused counts as an expired document.
INSERT INTO noria.board (kind, name, version, expires, data)
SELECT DISTINCT v ->> 0, v ->> 1, 0, 0, '' FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY 1, 2
ON CONFLICT (kind, name) DO NOTHING
