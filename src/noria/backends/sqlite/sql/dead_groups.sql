-- Dead letters by fingerprint; each step of the recursion finds the next fingerprint by the index.
-- In: 1 how many fingerprints; 2 to which number each is counted.
-- Out: one row, JSON [[fingerprint, n, first finished, last finished, id of the last as hex], …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH RECURSIVE prints (print) AS (
    SELECT (
        SELECT fingerprint FROM jobs INDEXED BY dead_alike
        WHERE dead = 1 AND fingerprint >= '' ORDER BY fingerprint LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT fingerprint FROM jobs INDEXED BY dead_alike
        WHERE dead = 1 AND fingerprint > print ORDER BY fingerprint LIMIT 1
    ) FROM prints WHERE print IS NOT NULL LIMIT ?1
)
SELECT json_group_array(json_array(
    print,
    (SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY dead_alike WHERE dead = 1 AND fingerprint = print LIMIT ?2)),
    (SELECT min(finished) FROM jobs INDEXED BY dead_alike WHERE dead = 1 AND fingerprint = print),
    (SELECT max(finished) FROM jobs INDEXED BY dead_alike WHERE dead = 1 AND fingerprint = print),
    (
        SELECT hex(id) FROM jobs INDEXED BY dead_alike
        WHERE dead = 1 AND fingerprint = print ORDER BY finished DESC, id DESC LIMIT 1
    )
))
FROM prints WHERE print IS NOT NULL
