-- Append partial results.
-- In: 1 JSON [[id as hex, offset, starts, data as hex], …]; 2 now. Out: nothing.
-- Locks: nothing more; the jobs are locked before.
-- Safe to repeat: no; marks_read.sql has told which are new.
INSERT INTO noria.items (id, n, at, starts, data)
SELECT (v ->> 0)::uuid, (v ->> 1)::bigint, $2::bigint, (v ->> 2)::bigint, decode(v ->> 3, 'hex')
FROM jsonb_array_elements($1::jsonb) AS e (v)
