-- Erase the records of ended jobs; a trace stays for a while, by which repeats are recognised.
-- unplace.sql goes before, place.sql follows.
-- In: 1 JSON [id as hex, …]; 2 when the trace may go. Out: nothing.
-- Locks: the jobs, as alter_look.sql has before.
-- Safe to repeat: yes; only a job that has ended is changed.
UPDATE noria.jobs AS j
SET state = 20, spoiled = j.state <> 10, dead = false, body = '', body_bytes = NULL, result = NULL, result_bytes = NULL, extras = NULL,
    correlation_id = NULL, parent_id = NULL, linked = NULL, failure = NULL, fingerprint = NULL, change = NULL, log = NULL,
    past = NULL, unique_key = NULL, live_key = NULL, reply = NULL, prune_at = $2::bigint, version = version + 1
FROM jsonb_array_elements_text($1::jsonb) AS e (id)
WHERE j.id = e.id::uuid AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
AND j.state IN (10, 11, 12, 13)
