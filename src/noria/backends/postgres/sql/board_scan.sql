-- Read documents of a kind in the order of their names, as long as they have no more bytes together than may be.
-- In: 1 kind; 2 only names after this one; 3 and 4 only from this name to before that; 5 now; 6 how many at most;
--     7 how many bytes.
-- Out: one row, JSON [[name, [version, expires, data as text, data as hex]], …]; the first is there however large it is.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(
    json_build_array(name, json_build_array(version, expires, data, encode(data_bytes, 'hex'))) ORDER BY name
), '[]')
FROM (
    SELECT *, sum(size) OVER (ORDER BY name) AS total FROM (
        SELECT name, version, expires, data, data_bytes,
            coalesce(octet_length(data), octet_length(data_bytes)) AS size
        FROM noria.board
        WHERE kind = $1::text AND name > $2::text AND name >= $3::text AND name < $4::text
        AND (expires IS NULL OR expires > $5::bigint)
        ORDER BY name LIMIT $6::bigint
    ) AS page
) AS summed
WHERE total = size OR total <= $7::bigint
