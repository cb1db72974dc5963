-- New jobs: what a push and a success with follow-ups store.
-- Gives: begin, full, refused, create, enroll.

-- The job that stands where this one would, if there is one.
local function holder_of(id, h)
    if heads[id] then return head_of(id).state == ERASED and redis.call('HGET', P .. 'body', id) or id end
    return h.keyed > 0 and holder_of_key(h)
end

-- A new head, with all that follows from the time and from the limits of its queue.
local function begin(packed)
    local h = unpack_head(packed)
    if h.due == NEVER then h.due = now + h.rank end
    if h.keyed == 3 then h.till, h.finished = now + h.finished, NEVER end
    h.state = h.due <= now and QUEUED or SCHEDULED
    h.rank, h.created = rank_of(h), now
    h.admitted, h.taken = h.taken == 1, 0
    bound(h)
    return h, pack_head(h)
end

-- How many jobs wait in a queue.
local function length_of(queue)
    local n = 0
    for _, state in ipairs({SCHEDULED, QUEUED, RETRYING, PARKED}) do n = n + number_of(queue, state) end
    return n
end

-- How many may wait in a queue that has no room for a job behind so many others that come; nothing if it has room.
local function full(h, coming)
    local bounds = not h.admitted and limits_of(h.queue)
    if not bounds or bounds.max_length == NEVER then return nil end
    return length_of(h.queue) + coming >= bounds.max_length and digits(bounds.max_length)
end

-- Of the jobs from ARGV[first] to ARGV[last] those that have no room, as `enroll` gives them; nothing is stored.
local function refused(first, last)
    local found, coming, h = {}, {}, nil
    for at = first, last, 4 do
        if ARGV[at + 1] ~= '' then h = begin(ARGV[at + 1]) end
        if not holder_of(ARGV[at], h) then
            local most = full(h, coming[h.queue] or 0)
            if most then
                found[#found + 1] = (at - first) / 4
                found[#found + 1] = most
            end
            coming[h.queue] = (coming[h.queue] or 0) + 1
        end
    end
    return found
end

-- Store a job under its new head.
local function create(id, h, packed, card, body, soon)
    store('body', id, body)
    if card ~= '' then store('card', id, card) end
    put(id, h, nil, nil, packed)
    if h.kin == 1 then adopt(id, card) end
    happened(h, 'arrived')
    if h.due <= soon then has_work(h.queue, h.lane) end
end

-- Store the jobs from ARGV[first] to ARGV[last]: for each its id, head, card and body, as in push.lua. Workers are woken
-- of those that are due by `soon`. Gives [place, id, ...] of those for which another job stands, or what is remembered of
-- one that was added to another; instead of the id, of those that have no room in their queue, how many jobs may wait there.
local function enroll(first, last, soon)
    local taken, h, packed, card = {}, nil, nil, nil
    for at = first, last, 4 do
        local id = ARGV[at]
        if ARGV[at + 1] ~= '' then
            h, packed = begin(ARGV[at + 1])
            card = ARGV[at + 2]
        end
        local holder = holder_of(id, h) or full(h, 0)
        if holder then
            taken[#taken + 1] = (at - first) / 4
            taken[#taken + 1] = holder
        else
            create(id, h, packed, card, ARGV[at + 3], soon)
        end
    end
    return taken
end
