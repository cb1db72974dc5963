#!lua
-- Store new jobs, and the documents that go along with them.
-- Needs: start, heads, gather, places, board
-- In: ARGV[3] milliseconds within which a job that becomes due still wakes workers; ARGV[4] how many documents, each as
--     in board_write.lua; then for each job its id, a head, its card (see cards.py; empty for the usual one) and its body.
--     Of the head, `due` is the time that was given, or NEVER, and then `rank` is the delay. An empty head stands for that
--     of the job before, with its card.
-- Out: [place, id, …] of each job that was not stored and the job that stands for it; or a text: the place of the
--     first document that conflicts, with all versions; then nothing was stored.
-- Locks: the server, about 5 microseconds for each of many jobs.
-- Safe to repeat: yes; the second time every id is taken.
-- A full server refuses it as a whole, before anything was done.
local first = 5 + 5 * tonumber(ARGV[4])
local conflict = write_docs(5, tonumber(ARGV[4]))
if conflict then return conflict end
-- limits.AGEING in milliseconds; a test compares.
local AGEING = 3600000

local soon = now + tonumber(ARGV[3])
local taken, ids = {}, {}
for at = first, #ARGV, 4 do ids[#ids + 1] = ARGV[at] end
gathers = #ids > 1
read_heads(ids)

-- The job that stands where this one would, if there is one.
local function holder_of(id, h)
    return heads[id] and id or h.keyed == 1 and redis.call('HGET', P .. 'keys', h.task .. '\0' .. h.unique)
end

-- A new head, with all that follows from the time.
local function begin(packed)
    local h = unpack_head(packed)
    if h.due == NEVER then h.due = now + h.rank end
    h.state = h.due <= now and QUEUED or SCHEDULED
    h.rank, h.created = h.due - h.priority * AGEING, now
    return h, pack_head(h)
end

local h, packed, card
for at = first, #ARGV, 4 do
    local id = ARGV[at]
    if ARGV[at + 1] ~= '' then
        h, packed = begin(ARGV[at + 1])
        card = ARGV[at + 2]
    end
    local holder = holder_of(id, h)
    if holder then
        taken[#taken + 1] = (at - first) / 4
        taken[#taken + 1] = holder
    else
        store('body', id, ARGV[at + 3])
        if card ~= '' then store('card', id, card) end
        put(id, h, nil, nil, packed)
        happened(h, 'arrived')
        if h.due <= soon then has_work(h.queue, h.lane) end
    end
end
conclude()
return taken
