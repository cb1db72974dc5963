-- How a session stands whose unheard leases are to come back.
-- In: 1 session. Out: no row, or one (1 if it has ended, worker).
-- Locks: nothing more; one writes at a time.
-- Safe to repeat: yes.
SELECT ended IS NOT NULL, worker
FROM sessions
WHERE session = ?1
