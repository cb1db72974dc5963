-- Begin a session.
-- In: 1 session; 2 worker; 3 JSON of its tasks; 4 JSON of its card; 5 ttl; 6 now. Out: nothing.
-- Locks: the new row.
-- Safe to repeat: no, the number is taken then; numbers are random, and each call draws a new one.
INSERT INTO noria.sessions (session, worker, tasks, card, ttl, opened, deadline, seen)
VALUES (
    $1::bigint, $2::text, ARRAY(SELECT jsonb_array_elements_text($3::jsonb)), $4::text, $5::bigint, $6::bigint,
    $6::bigint + $5::bigint, $6::bigint
)
