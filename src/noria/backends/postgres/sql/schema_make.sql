-- Make the schema of a namespace, if there is none. Whoever finds one needs no right to make schemas.
-- In: nothing. Out: nothing.
-- Locks: the catalogue.
-- Safe to repeat: yes.
DO $make$ BEGIN
    IF to_regnamespace('"noria"') IS NULL THEN CREATE SCHEMA "noria"; END IF;
END $make$
