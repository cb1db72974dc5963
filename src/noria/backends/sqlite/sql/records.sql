-- Read jobs.
-- In: 1 JSON [id as hex, …]; 2 whether with bodies; 3 with results; 4 with logs;
--     5 values of more bytes are left out.
-- Out: one row, JSON [Row or null, …] in the same order (see rows.py).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(CASE WHEN j.state < 20 THEN json_array(
    hex(j.id), j.task, j.queue, j.state, j.version, j.dead, j.priority, j.created, j.due, j.began, j.finished,
    j.expires, j.deadline, abs(j.session), coalesce(s.worker, ''), j.starts, j.spent, j.attempts, j.crashes,
    j.crash_budget, j.releases, j.snoozes, j.unique_key, j.keep, j.cancelling,
    CASE WHEN j.cancelling THEN j.change ->> 'asked' END, j.failure, j.extras, j.codec, j.result_codec, CASE WHEN ?4 THEN j.log END,
    CASE WHEN ?4 THEN j.past END,
    CASE WHEN ?2 THEN CASE typeof(j.body)
        WHEN 'text' THEN j.body
        WHEN 'integer' THEN (
            SELECT data FROM blobs WHERE key = j.body AND typeof(data) = 'text' AND octet_length(data) <= ?5
        )
    END END,
    CASE WHEN ?2 THEN CASE typeof(j.body)
        WHEN 'blob' THEN hex(j.body)
        WHEN 'integer' THEN (
            SELECT hex(data) FROM blobs WHERE key = j.body AND typeof(data) = 'blob' AND octet_length(data) <= ?5
        )
    END END,
    CASE WHEN ?3 THEN CASE typeof(j.result)
        WHEN 'text' THEN j.result
        WHEN 'integer' THEN (
            SELECT data FROM blobs WHERE key = j.result AND typeof(data) = 'text' AND octet_length(data) <= ?5
        )
    END END,
    CASE WHEN ?3 THEN CASE typeof(j.result)
        WHEN 'blob' THEN hex(j.result)
        WHEN 'integer' THEN (
            SELECT hex(data) FROM blobs WHERE key = j.result AND typeof(data) = 'blob' AND octet_length(data) <= ?5
        )
    END END, j.linked,
    coalesce(m.version, 0), coalesce(m.emitted, 0), CASE WHEN m.starts = j.starts THEN m.progress END, m.note, m.noted,
    CASE WHEN m.starts = j.starts AND m.session = j.session AND j.state = 3 THEN m.asks END,
    CASE WHEN j.state = 4 THEN (
        SELECT json_group_array(hex(parent)) FROM (
            SELECT parent FROM awaits INDEXED BY awaits_of WHERE child = j.id ORDER BY parent LIMIT 100
        )
    ) END,
    j.family, j.group_key, j.gate
) END)
FROM jsonb_each(?1) AS e
LEFT JOIN jobs AS j ON j.id = unhex(e.value)
LEFT JOIN sessions AS s ON s.session = abs(j.session)
LEFT JOIN marks AS m ON m.id = j.id
