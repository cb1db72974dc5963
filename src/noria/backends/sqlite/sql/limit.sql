-- Change some limits of a queue.
-- In: 1 queue; then in pairs whether it changes, and its new value: 2 newest first; 4 ageing, or null for the usual;
--     6 greatest age, 8 greatest length, 10 how many may run,
--     12 high water, each null for as much as comes. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
INSERT INTO limits (queue, newest, ageing, max_age, max_length, concurrency, high_water)
VALUES (?1, ?3, ?5, ?7, ?9, ?11, ?13)
ON CONFLICT (queue) DO UPDATE SET
    newest = iif(?2, excluded.newest, newest), ageing = iif(?4, excluded.ageing, ageing),
    max_age = iif(?6, excluded.max_age, max_age), max_length = iif(?8, excluded.max_length, max_length),
    concurrency = iif(?10, excluded.concurrency, concurrency), high_water = iif(?12, excluded.high_water, high_water)
