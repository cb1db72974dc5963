-- Begin a session.
-- In: 1 session; 2 worker; 3 JSON of its tasks; 4 JSON of its card; 5 ttl; 6 now. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: no, the number is taken then; numbers are random, and each call draws a new one.
INSERT INTO sessions (session, worker, tasks, card, ttl, opened, deadline, seen)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6 + ?5, ?6)
