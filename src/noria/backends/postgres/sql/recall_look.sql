-- How a session stands whose unheard leases are to come back, once no lease or settle of it is under way any more: one
-- whose connection has broken may still be, and nobody would ever give back what it commits afterwards.
-- In: 1 session. Out: no row, or one (1 if it has ended, worker).
-- Locks: the session.
-- Safe to repeat: yes.
SELECT (ended IS NOT NULL)::integer, worker
FROM noria.sessions
WHERE session = $1::bigint FOR UPDATE
