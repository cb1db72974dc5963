-- Write documents; each gets a new version. Their rows were claimed and locked before.
-- In: 1 JSON [[kind, name, expires, data as text, data as hex], …], each name once. Out: nothing.
-- Locks: the documents, as board_versions.sql has before.
-- Safe to repeat: yes; the versions are others then.
UPDATE noria.board AS b
SET version = nextval('noria.board_version'), expires = (v ->> 2)::bigint, data = v ->> 3,
    data_bytes = decode(v ->> 4, 'hex')
FROM jsonb_array_elements($1::jsonb) AS e (v)
WHERE b.kind = v ->> 0 AND b.name = v ->> 1
