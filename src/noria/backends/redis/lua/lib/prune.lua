-- Dropping records that are kept no longer, in portions, so that a full store is as fast as an empty one.
-- Gives: prune, prune_within.

-- Drop records of a set that are kept only until before this time, the oldest first; says how many.
local function prune(kept, before, limit)
    flush()
    local ids = redis.call('ZRANGEBYSCORE', P .. kept, '-inf', before, 'LIMIT', '0', digits(limit))
    read_heads(ids)
    for _, id in ipairs(ids) do
        local h = known(id, kept)
        if h then
            lift(id, h)
            drop(id, h)
        end
    end
    return #ids
end

-- Drop what is above the cap, or past its time; says how many.
local function prune_within(cap, limit)
    flush()
    local over = redis.call('ZCARD', P .. 'kept') - cap
    if over > 0 then return prune('kept', '+inf', math.min(over, limit)) end
    return prune('kept', digits(now), limit)
end
