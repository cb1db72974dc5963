#!lua
-- Store new jobs, and the documents that go along with them.
-- Needs: start, one_push, heads, gather, ties, places, refill, board, enroll, declare
-- In: ARGV[3] milliseconds within which a job that becomes due still wakes workers; ARGV[4] rules of families and
--     resources, as declare.lua takes them, or empty; ARGV[5] how many documents, each as in board_write.lua; then for
--     each job its id, a head, its card (see cards.py; empty for the usual one) and its body. Of the head, `due` is the
--     time that was given, or NEVER, and then `rank` is the delay; `finished` is for how long it holds its key, if
--     `keyed` is 3; `taken` says that it is let into a full queue. An empty head stands for that of the job before,
--     with its card.
-- Out: [place, id, …] of each job that was not stored and the job that stands for it, or the trace of one that was added
--     to another, longer than an id, or, shorter than one, how many may wait in its queue, which is full, or '-' and the id
--     of a job that it was to wait for and that is not there: with documents, nothing was stored then. Or a text: the place
--     of the first document that conflicts, with all versions; then nothing was stored.
-- Locks: the server, about 5 microseconds for each of many jobs.
-- Safe to repeat: yes; the second time every id is taken.
-- A full server refuses it as a whole, before anything was done.
local first = 6 + 5 * tonumber(ARGV[5])
local ids = {}
for at = first, #ARGV, 4 do ids[#ids + 1] = ARGV[at] end
gathers = #ids > 1
read_heads(ids)
if ARGV[5] ~= '0' then
    local place, parent = first_missing(first, #ARGV)
    if place then return {place, '-' .. parent} end
    local none = refused(first, #ARGV)
    if #none > 0 then return none end
    local conflict = write_docs(6, tonumber(ARGV[5]))
    if conflict then return conflict end
end
declare(ARGV[4])
local taken = enroll(first, #ARGV, now + tonumber(ARGV[3]), true)
conclude()
return taken
