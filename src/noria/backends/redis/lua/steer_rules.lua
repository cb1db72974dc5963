#!lua flags=allow-oom
-- Set the rules of families, and resources.
-- Needs: start, heads, gather, ties, places, refill, declare
-- In: ARGV[3] as declare.lua takes it.
-- Out: nothing.
-- Locks: nothing else; jobs in line move by new rules with the next sweeps.
-- Safe to repeat: yes.
declare(ARGV[3])
conclude()
return false
