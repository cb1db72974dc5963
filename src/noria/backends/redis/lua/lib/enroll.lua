-- New jobs: what a push and a success with follow-ups store.
-- Gives: begin, full, refused, create, wait_for, parents_of, standing, enroll, first_missing.

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
    h.state = h.kin >= 16 and WAITING or h.due <= now and QUEUED or SCHEDULED
    h.rank, h.created = rank_of(h), now
    h.admitted, h.roomy, h.taken = h.taken > 0, h.taken == 2, 0
    if h.tie ~= '' then ties().line_up(nil, h) end
    bound(h)
    return h, pack_head(h)
end

-- How many jobs wait in a queue.
local function length_of(queue)
    local n = 0
    for _, state in ipairs({SCHEDULED, QUEUED, WAITING, RETRYING, PARKED}) do n = n + number_of(queue, state) end
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
    local found, coming, seen, h = {}, {}, {}, nil
    for at = first, last, 4 do
        if ARGV[at + 1] ~= '' then h = begin(ARGV[at + 1]) end
        local key = h.keyed > 0 and h.task .. '\0' .. h.unique
        if not (seen[ARGV[at]] or key and seen[key] or holder_of(ARGV[at], h)) then
            seen[ARGV[at]] = true
            if key then seen[key] = true end
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

-- The ids of the jobs that one is to wait for, which its card names.
local function parents_of(card)
    local parents, seen = {}, {}
    for word in card:match('"after":%[([^%]]*)%]'):gmatch('%x+') do
        if not seen[word] then
            seen[word] = true
            parents[#parents + 1] = word:gsub('%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
        end
    end
    return parents
end

-- Parents, each once, with those that stand for some of them in their stead.
local function standing(parents, stands)
    local found, seen = {}, {}
    for _, parent in ipairs(parents) do
        parent = stands[parent] or parent
        if not seen[parent] then found[#found + 1] = parent end
        seen[parent] = true
    end
    return found
end

-- Of the jobs from ARGV[first] to ARGV[last], the place of the first that waits for one which is not there, and that one.
local function first_missing(first, last)
    local before, kin, card = {}, 0, nil
    for at = first, last, 4 do
        if ARGV[at + 1] ~= '' then
            kin, card = unpack_head(ARGV[at + 1]).kin, ARGV[at + 2]
        end
        for _, parent in ipairs(kin >= 16 and parents_of(card) or {}) do
            if not before[parent] and not head_of(parent) then return (at - first) / 4, parent end
        end
        before[ARGV[at]] = true
    end
end

-- Have a job wait for others; those that are not there count as cancelled.
local function wait_for(id, parents)
    for _, parent in ipairs(parents) do
        local h = head_of(parent)
        redis.call('SADD', P .. 'heirs:' .. parent, id)
        redis.call('SADD', P .. 'awaits:' .. id, parent)
        if not h then
            bequeath(parent, CANCELLED)
        elseif h.state == ERASED then
            bequeath(parent, bit.band(h.kin, 8) == 8 and CANCELLED or SUCCEEDED)
        elseif h.state >= SUCCEEDED then
            bequeath(parent, h.state)
        elseif bit.band(h.kin, 4) == 0 then
            h.kin = h.kin + 4
            heads[parent] = pack_head(h)
            store('head', parent, heads[parent])
        end
    end
    redis.call('HSET', P .. 'pending', id, #parents .. ' 0')
end

-- Store a job under its new head; `parents`: those that it is to wait for.
local function create(id, h, packed, card, body, soon, parents)
    store('body', id, body)
    if card ~= '' then store('card', id, card) end
    put(id, h, nil, nil, packed)
    if bit.band(h.kin, 1) == 1 then adopt(id, card) end
    if parents then wait_for(id, parents) end
    happened(h, 'arrived')
    if h.due <= soon and not parents then has_work(h.queue, h.lane) end
end

-- Store the jobs from ARGV[first] to ARGV[last]: for each its id, head, card and body, as in push.lua. Workers are woken
-- of those that are due by `soon`. Gives [place, id, ...] of those for which another job stands, or what is remembered of
-- one that was added to another; if it is `strict`, a job that waits for one which is not there is not stored, and instead
-- of an id stands '-' with that of the missing one; of those that have no room in their queue, how many may wait in it.
local function enroll(first, last, soon, strict)
    local taken, stands, h, packed, card = {}, {}, nil, nil, nil

    local function refuse(at, who)
        taken[#taken + 1] = (at - first) / 4
        taken[#taken + 1] = who
    end

    -- Those that the job is to wait for, or nothing if it cannot be stored.
    local function parents_at(at)
        local parents = standing(parents_of(card), stands)
        for _, parent in ipairs(strict and parents or {}) do
            if not head_of(parent) then return refuse(at, '-' .. parent) end
        end
        return parents
    end

    for at = first, last, 4 do
        local id = ARGV[at]
        if ARGV[at + 1] ~= '' then
            h, packed = begin(ARGV[at + 1])
            card = ARGV[at + 2]
        end
        local holder = holder_of(id, h)
        local parents = not holder and h.kin >= 16 and parents_at(at)
        local most = not holder and (h.kin < 16 or parents) and full(h, 0)
        if most then refuse(at, most) end
        if holder then
            stands[id] = holder
            refuse(at, holder)
        elseif not most and (h.kin < 16 or parents) then
            create(id, h, packed, card, ARGV[at + 3], soon, parents)
        end
    end
    return taken
end
