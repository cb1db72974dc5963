-- New jobs: what a push and a success with follow-ups store.
-- Gives: enroll.
-- limits.AGEING in milliseconds; a test compares.
local AGEING = 3600000

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

-- Store the jobs from ARGV[first] to ARGV[last]: for each its id, head, card and body, as in push.lua. Workers are woken
-- of those that are due by `soon`. Gives [place, id, ...] of those for which another job stands.
local function enroll(first, last, soon)
    local taken, h, packed, card = {}, nil, nil, nil
    for at = first, last, 4 do
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
            if h.kin == 1 then adopt(id, card) end
            happened(h, 'arrived')
            if h.due <= soon then has_work(h.queue, h.lane) end
        end
    end
    return taken
end
