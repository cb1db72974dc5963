-- Change some limits of a queue.
-- In: 1 queue; then in pairs whether it changes, and its new value: 2 newest first; 4 ageing, or null for the usual;
--     6 greatest age, 8 greatest length, 10 how many may run,
--     12 high water, each null for as much as comes. Out: nothing.
-- Locks: the limits of the queue.
-- Safe to repeat: yes.
INSERT INTO noria.limits AS l (queue, newest, ageing, max_age, max_length, concurrency, high_water)
VALUES ($1::text, $3::smallint, $5::bigint, $7::bigint, $9::bigint, $11::bigint, $13::jsonb)
ON CONFLICT (queue) DO UPDATE SET
    newest = CASE WHEN $2::integer = 1 THEN excluded.newest ELSE l.newest END,
    ageing = CASE WHEN $4::integer = 1 THEN excluded.ageing ELSE l.ageing END,
    max_age = CASE WHEN $6::integer = 1 THEN excluded.max_age ELSE l.max_age END,
    max_length = CASE WHEN $8::integer = 1 THEN excluded.max_length ELSE l.max_length END,
    concurrency = CASE WHEN $10::integer = 1 THEN excluded.concurrency ELSE l.concurrency END,
    high_water = CASE WHEN $12::integer = 1 THEN excluded.high_water ELSE l.high_water END
