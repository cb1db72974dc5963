-- Read jobs.
-- In: 1 JSON [id as hex, …]; 2 whether with bodies; 3 with results; 4 with logs;
--     5 values of more bytes are left out.
-- Out: one row, JSON [Row or null, …] in the same order (see rows.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT coalesce(json_agg(CASE WHEN j.state < 20 THEN json_build_array(
    noria.hex(j.id), j.task, j.queue, j.state, j.version, j.dead::integer, j.priority, j.created, j.due, j.began,
    j.finished, j.expires, j.deadline, abs(j.session), coalesce(s.worker, ''), j.starts, j.spent, j.attempts, j.crashes,
    j.crash_budget, j.releases, j.snoozes, j.unique_key, j.keep, (j.inbox IS NOT NULL)::integer,
    CASE WHEN j.inbox IS NOT NULL THEN noria.peek(j.change, 'asked')::bigint END,
    j.failure, j.extras, j.codec, j.result_codec,
    CASE WHEN $4::boolean AND j.log IS NOT NULL THEN '[' || array_to_string(j.log, ',') || ']' END,
    CASE WHEN $4::boolean THEN j.past END,
    CASE WHEN $2::boolean AND octet_length(j.body) <= $5::bigint THEN j.body END,
    CASE WHEN $2::boolean AND octet_length(j.body_bytes) <= $5::bigint THEN encode(j.body_bytes, 'hex') END,
    CASE WHEN $3::boolean AND octet_length(j.result) <= $5::bigint THEN j.result END,
    CASE WHEN $3::boolean AND octet_length(j.result_bytes) <= $5::bigint THEN encode(j.result_bytes, 'hex') END,
    j.linked,
    coalesce(m.version, 0), coalesce(m.emitted, 0), CASE WHEN m.starts = j.starts THEN m.progress END, m.note, m.noted,
    CASE WHEN m.starts = j.starts AND m.session = j.session AND j.state = 3 THEN m.asks END,
    CASE WHEN j.state = 4 THEN (
        SELECT json_agg(noria.hex(parent))::text FROM (
            SELECT parent FROM noria.awaits WHERE child = j.id ORDER BY parent LIMIT 100
        ) AS first_ones
    ) END,
    j.family, j.group_key, j.gate
) END ORDER BY place), '[]')
FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS e (id, place)
LEFT JOIN noria.jobs AS j ON j.id = e.id::uuid
    AND j.id = ANY (ARRAY(SELECT f.id::uuid FROM jsonb_array_elements_text($1::jsonb) AS f (id)))
LEFT JOIN noria.sessions AS s ON s.session = abs(j.session)
LEFT JOIN noria.marks AS m ON m.id = j.id
