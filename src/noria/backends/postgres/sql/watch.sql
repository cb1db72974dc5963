-- Have the outcome of jobs that have not ended told to a reply channel; the last one who asks is told.
-- In: 1 JSON [id as hex, …]; 2 channel. Out: nothing.
-- Locks: the jobs, in the order of their ids.
-- Safe to repeat: yes.
WITH asked AS MATERIALIZED (
    SELECT DISTINCT id::uuid AS id FROM jsonb_array_elements_text($1::jsonb) AS e (id)
), live AS MATERIALIZED (
    SELECT j.id FROM asked AS a JOIN noria.jobs AS j ON j.id = a.id AND j.id = ANY (ARRAY(SELECT id FROM asked))
    WHERE j.state < 10 AND j.reply IS DISTINCT FROM $2::text
    ORDER BY j.id
    FOR UPDATE OF j
)
UPDATE noria.jobs AS j SET reply = $2::text FROM live AS l
WHERE j.id = l.id AND j.id = ANY (ARRAY(SELECT id FROM live)) AND j.state < 10
