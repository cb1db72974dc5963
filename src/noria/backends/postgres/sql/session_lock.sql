-- Wait until no settle or lease of this session is under way, so that what it holds can be counted.
-- In: 1 session. Out: one row or none.
-- Locks: the session.
-- Safe to repeat: yes.
SELECT 1 FROM noria.sessions
WHERE session = $1::bigint FOR UPDATE
