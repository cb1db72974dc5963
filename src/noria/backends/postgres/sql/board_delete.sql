-- Delete documents.
-- In: 1 JSON [[kind, name], …]. Out: nothing.
-- Locks: the documents, as board_versions.sql has before.
-- Safe to repeat: yes.
DELETE FROM noria.board AS b USING jsonb_array_elements($1::jsonb) AS e (v)
WHERE b.kind = v ->> 0 AND b.name = v ->> 1
