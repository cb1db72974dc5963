-- Note jobs that have ended, for those that wait for them.
-- In: 1 JSON [[id as hex, state], …]. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; the first end counts.
INSERT OR IGNORE INTO ended_parents (parent, state)
SELECT unhex(value ->> 0), value ->> 1 FROM jsonb_each(?1)
