-- Record starts that succeeded.
-- In: 1 JSON [[id as hex, result as text or key, result as hex, codec, prune_at], …]; 2 session; 3 now; 4 prune_at where
--     none is given. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; only a start that this session holds is changed.
UPDATE jobs
SET state = 10, result = coalesce(e.value ->> 1, unhex(e.value ->> 2)), result_codec = e.value ->> 3,
    prune_at = coalesce(e.value ->> 4, ?4), finished = ?3, failure = NULL, cancelling = 0, version = version + 1
FROM jsonb_each(?1) AS e
WHERE jobs.id = unhex(e.value ->> 0) AND +jobs.state = 3 AND +jobs.session = ?2
