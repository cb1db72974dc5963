-- Note that tokens of rated resources were taken.
-- In: 1 JSON [[name, tat], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes.
UPDATE resources
SET tat = e.value ->> 1
FROM jsonb_each(?1) AS e
WHERE resources.name = e.value ->> 0
