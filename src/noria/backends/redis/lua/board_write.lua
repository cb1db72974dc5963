#!lua
-- Write documents, all or none; each gets a new version.
-- Needs: start, board
-- In: for each: kind, name, the version that is expected or empty, its time to live in milliseconds or empty, and 'd' to
--     delete it or 'w' and its data.
-- Out: [version, or 0 of one that was deleted, …]; or a text if one is not of the version that was expected: the versions
--     that there are.
-- Locks: nothing else.
-- Safe to repeat: yes; the versions are others then.
-- A full server refuses it as a whole, before anything was done.
local conflict, versions = write_docs(3, (#ARGV - 2) / 5)
return conflict or versions
