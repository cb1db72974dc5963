-- Set a connection up: by an index or not at all, one plan for good, and no wait without an end.
-- In: nothing. Out: nothing.
-- Locks: nothing.
-- Safe to repeat: yes.
SET search_path = pg_catalog;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET jit = off
