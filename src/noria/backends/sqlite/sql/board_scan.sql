-- Read documents of a kind in the order of their names, as long as they have no more bytes together than may be.
-- In: 1 kind; 2 only names after this one; 3 and 4 only from this name to before that; 5 now; 6 how many at most;
--     7 how many bytes.
-- Out: one row, JSON [[name, [version, expires, data as text, data as hex]], …]; the first is there however large it is.
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(json_array(
    name,
    json_array(
        version, expires,
        CASE typeof(data) WHEN 'text' THEN data END,
        CASE typeof(data) WHEN 'blob' THEN hex(data) END
    )
)) FROM (
    SELECT *, sum(octet_length(data)) OVER (ORDER BY name) - octet_length(data) AS before FROM (
        SELECT name, version, expires, data FROM board INDEXED BY board_names
        WHERE kind = ?1 AND name > ?2 AND name >= ?3 AND name < ?4 AND (expires IS NULL OR expires > ?5)
        ORDER BY name LIMIT ?6
    )
) WHERE before = 0 OR before + octet_length(data) <= ?7
