-- Jobs of groups that have a place and do not run yet.
-- In: 1 JSON [[family, key], …]. Out: one row, JSON [[place of the group in what was asked, id as hex, queue], …].
-- Locks: the jobs; one that somebody has locked is left out, and no lease takes it while its group is closed.
-- Safe to repeat: yes.
WITH placed AS MATERIALIZED (
    SELECT e.place - 1 AS place, p.id
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS e (v, place)
    CROSS JOIN LATERAL (
        SELECT p.id FROM noria.places AS p WHERE p.family = v ->> 0 AND p.group_key = v ->> 1 OFFSET 0
    ) AS p
), eligible AS MATERIALIZED (
    SELECT p.place, j.id, j.queue
    FROM placed AS p JOIN noria.jobs AS j ON j.id = p.id AND j.id = ANY (ARRAY(SELECT id FROM placed))
    WHERE j.state = 2 AND j.placed
    FOR UPDATE OF j SKIP LOCKED
)
SELECT coalesce(json_agg(json_build_array(place, noria.hex(id), queue)), '[]') FROM eligible
