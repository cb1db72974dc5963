-- Erase the records of ended jobs; a trace stays for a while, by which repeats are recognised.
-- In: 1 JSON [id as hex, …]; 2 when the trace may go. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; only a job that has ended is changed.
UPDATE jobs
SET state = 20, spoiled = state <> 10, dead = 0, body = '', result = NULL, extras = NULL, failure = NULL, fingerprint = NULL, change = NULL,
    log = NULL, past = NULL, linked = NULL, unique_key = NULL, reply = NULL, prune_at = ?2, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state IN (10, 11, 12, 13)
