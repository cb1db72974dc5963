-- Dead letters by fingerprint; each step of the recursion finds the next fingerprint by the index.
-- In: 1 how many fingerprints; 2 to which number each is counted.
-- Out: one row, JSON [[fingerprint, n, first finished, last finished, id of the last as hex], …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH RECURSIVE prints (print, place) AS (
    (SELECT fingerprint, 1::bigint FROM noria.letters ORDER BY fingerprint LIMIT 1)
    UNION ALL
    SELECT
        (SELECT l.fingerprint FROM noria.letters AS l WHERE l.fingerprint > p.print ORDER BY l.fingerprint LIMIT 1),
        p.place + 1
    FROM prints AS p WHERE p.print IS NOT NULL AND p.place < $1::bigint
)
SELECT coalesce(json_agg(json_build_array(
    print,
    (SELECT count(*) FROM (SELECT 1 FROM noria.letters WHERE fingerprint = print LIMIT $2::bigint) AS few),
    (SELECT min(finished) FROM noria.letters WHERE fingerprint = print),
    (SELECT max(finished) FROM noria.letters WHERE fingerprint = print),
    (SELECT noria.hex(id) FROM noria.letters WHERE fingerprint = print ORDER BY finished DESC, id DESC LIMIT 1)
)), '[]')
FROM prints WHERE print IS NOT NULL
