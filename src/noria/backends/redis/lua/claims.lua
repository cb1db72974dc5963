#!lua
-- Store new jobs, and change those that hold their keys, as it was decided outside; and the documents that go along.
-- Needs: start, heads, gather, ties, places, refill, board, enroll, write, declare
-- In: ARGV[3] milliseconds within which a job that becomes due still wakes workers; ARGV[4] rules of families and
--     resources, as declare.lua takes them, or empty; ARGV[5] how many documents, each as in board_write.lua; then each
--     with their number before them: ids that must not be stored; keys, each with the id of the job that must hold it,
--     or nothing, and the version of its head; jobs that are not stored, each with the one that stands for it; new jobs,
--     each an id, a head, a card, a body; changes of holders, each as in write.lua; traces of jobs that are added to
--     others, each an id, a head, until when, and the text; jobs that end as cancelled at once, each an id, a head, a
--     card, a body, why, and for how long they are kept. `taken` of a new head is as in push.lua, or 2: it has the room
--     of one that makes way for it.
-- Out: ['o'] done; ['c'] something has changed meanwhile; ['f', place, how many may wait, …] of new jobs that have no
--     room in their queues; or a text: the place of the first document that conflicts, with all versions. But for the
--     first, nothing was written.
-- Locks: the server, about 20 microseconds for each of many jobs.
-- Safe to repeat: yes; the second time every id is taken.
-- A full server refuses it as a whole, before anything was done.
local soon = now + tonumber(ARGV[3])
local at = 6 + 5 * tonumber(ARGV[5])

-- How many things follow.
local function number()
    at = at + 1
    return tonumber(ARGV[at - 1])
end

-- The next words.
local function take(n)
    at = at + n
    return unpack(ARGV, at - n, at - 1)
end

local stands = {}

local function holds()
    for _ = 1, number() do
        if head_of(take(1)) then return false end
    end
    for _ = 1, number() do
        local field, holder, version = take(3)
        local task, unique = field:match('^([^%z]*)%z(.*)$')
        if (holder_of_key({task = task, unique = unique}) or '') ~= holder then return false end
        if holder ~= '' and head_of(holder).version ~= tonumber(version) then return false end
    end
    return true
end

-- Of the new jobs those that have no room, with how many may wait in their queues.
local function crowded(first, last)
    local found, coming = {'f'}, {}
    for each = first, last, 4 do
        local h = begin(ARGV[each + 1])
        local most = full(h, coming[h.queue] or 0)
        if most then
            found[#found + 1] = (each - first) / 4
            found[#found + 1] = most
        elseif not h.roomy then
            coming[h.queue] = (coming[h.queue] or 0) + 1
        end
    end
    return found
end

if not holds() then return {'c'} end
for _ = 1, number() do
    local id, other = take(2)
    stands[id] = other
end
local jobs = 4 * number()
local first, last = at, at + jobs - 1
local outside = crowded(first, last)
if #outside > 1 then return outside end
at = at + jobs
local conflict = write_docs(6, tonumber(ARGV[5]))
if conflict then return conflict end
declare(ARGV[4])
for _ = 1, number() do
    local _, behind = write(at)
    at = behind
end
flush()
for _ = 1, number() do
    local id, packed, till, text = take(4)
    local h = unpack_head(packed)
    h.was = ERASED
    put(id, h, tonumber(till), nil, packed)
    count(h.queue, 'erased', -1)
    store('body', id, text)
end
for _ = 1, number() do
    local id, packed, card, body, why, kept = take(6)
    local h = begin(packed)
    h.state, h.finished = CANCELLED, now
    store('body', id, body)
    if card ~= '' then store('card', id, card) end
    store('why', id, why)
    put(id, h, now + tonumber(kept), '')
    if bit.band(h.kin, 1) == 1 then adopt(id, card) end
    happened(h, 'arrived')
    happened(h, 'cancelled')
    tell_end(id, h)
end
for each = first, last, 4 do
    local h, whole = begin(ARGV[each + 1])
    local parents = h.kin >= 16 and standing(parents_of(ARGV[each + 2]), stands) or nil
    create(ARGV[each], h, whole, ARGV[each + 2], ARGV[each + 3], soon, parents)
end
conclude()
return {'o'}
