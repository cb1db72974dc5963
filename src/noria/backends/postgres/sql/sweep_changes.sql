-- Whether there are so many changes of counts that they should be folded.
-- In: 1 how many are few. Out: one row (1 if there are more).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT (
    (SELECT count(*) FROM (SELECT 1 FROM noria.count_changes LIMIT $1::bigint + 1) AS few) > $1::bigint
    OR (SELECT count(*) FROM (SELECT 1 FROM noria.flow_changes LIMIT $1::bigint + 1) AS few) > $1::bigint
)::integer
