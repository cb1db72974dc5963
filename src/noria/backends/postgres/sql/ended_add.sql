-- Note jobs that have ended, for those that wait for them.
-- In: 1 JSON [[id as hex, state], …]. Out: nothing.
-- Locks: the new rows.
-- Safe to repeat: yes; the first end counts.
INSERT INTO noria.ended_parents (parent, state)
SELECT (v ->> 0)::uuid, (v ->> 1)::smallint FROM jsonb_array_elements($1::jsonb) AS e (v)
ON CONFLICT DO NOTHING
