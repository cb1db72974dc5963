-- Drop the large values of jobs, before their rows forget the keys.
-- In: 1 JSON [id as hex, …]; 2 whether bodies too, or only results. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
DELETE FROM blobs
WHERE key IN (
    SELECT j.result FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
    WHERE typeof(j.result) = 'integer'
    UNION ALL
    SELECT j.body FROM jsonb_each(?1) AS e CROSS JOIN jobs AS j ON j.id = unhex(e.value)
    WHERE ?2 AND typeof(j.body) = 'integer'
)
