-- Erase the records of starts that succeeded; a trace stays for a while, by which repeats are recognised.
-- In: 1 JSON [id as hex, …]; 2 session; 3 now; 4 when the trace may go. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; only a start that this session holds is changed.
UPDATE jobs
SET state = 20, body = '', extras = NULL, failure = NULL, change = NULL, log = NULL, cancelling = 0, finished = ?3,
    prune_at = ?4, version = version + 1
WHERE id IN (SELECT unhex(value) FROM jsonb_each(?1)) AND +state = 3 AND +session = ?2
