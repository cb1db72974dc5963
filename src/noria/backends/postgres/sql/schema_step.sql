-- Note that steps of the schema were taken.
-- In: nothing; the first 0 stands for the version, the second for the one that a program must know at least. Out: nothing.
-- Locks: the version.
-- Safe to repeat: yes.
UPDATE noria.meta
SET version = 0, runs_from = greatest(runs_from, 0)
