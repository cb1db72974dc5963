-- What time alone does to jobs that do not run: they become due, and they expire.
-- Gives: promote, expire.

-- Make jobs of a queue ready whose time has come, at most so many; says how many. Their rank was fixed with their time.
local function promote(queue, limit)
    flush()
    local ids = redis.call('ZRANGEBYSCORE', P .. 'due:' .. queue, '-inf', digits(now), 'LIMIT', '0', digits(limit))
    read_heads(ids)
    for _, id in ipairs(ids) do
        local h = known(id, 'due:' .. queue)
        if h then
            lift(id, h)
            h.state, h.version = QUEUED, h.version + 1
            put(id, h)
        end
    end
    if #ids > 0 then has_work(queue) end
    return #ids
end

-- End jobs that were not started, or cannot be finished, in time, at most so many; says how many.
-- `late` is the failure of those whose deadline passed, `expired` that of those that were to begin in time, and `old` that
-- of the others, all as JSON.
local function expire(limit, keep_for, expired, late, old)
    flush()
    local ids = redis.call('ZRANGEBYSCORE', P .. 'lapsing', '-inf', digits(now), 'LIMIT', '0', digits(limit))
    read_heads(ids)
    for _, id in ipairs(ids) do
        local h = known(id, 'lapsing')
        if h then
            lift(id, h)
            h.state, h.finished, h.version = EXPIRED, now, h.version + 1
            store('why', id, h.deadline <= now and late or h.expires <= now and expired or old)
            put(id, h, now + keep_for)
            happened(h, 'expired')
            tell_end(id, h)
        end
    end
    return #ids
end
