-- Places of groups are handed over, once at the end of each script, to those who come next in line; then what waits, counts
-- and hints go out.
-- Gives: refill, tokens, owed, wake_groups, stir_groups, first_wake, and `conclude`: last in a script.
-- model/groups.WINDOW; a test compares.
local WINDOW = 8
-- Jobs that get a place in one script, at most; the rest gets theirs with the next sweeps.
local MOST_HEIRS = 2000
local heirs = {}
-- How many jobs of groups that close this script has had wait in line again. The rest follows with leases and sweeps, which
-- find the group in `closing`, and starts none of them meanwhile.
local pulled = 0

-- Milliseconds that one start is worth.
local function gap_of(rate)
    return rate.seconds * 1000 / rate.times
end

-- How many may start now by a rate.
local function tokens(rate, tat)
    return rate.burst - math.max(0, math.ceil((tat - now) / gap_of(rate) - 0.000001))
end

-- What a rate can owe: what a slower one has left behind holds up nobody.
local function owed(rate, tat)
    return math.min(tat, now + rate.burst * gap_of(rate))
end

-- When there will be so many tokens.
local function opens_at(rate, tat, n)
    return math.ceil(tat - (rate.burst - n) * gap_of(rate) - 0.000001)
end

-- Hand over the places of all groups to which something was done; says how many jobs got one.
local function hand_over()
    -- How many jobs may be eligible at once for the sake of fairness.
    local function window_of(group, rule)
        if rule.fair == false then return NEVER end
        return WINDOW * (rule.weights and rule.weights[group:match('\t(.*)$')] or 1)
    end

    local function most_of(rule)
        return rule.ordered and 1 or rule.limit or NEVER
    end

    -- Whether it matters how many of a group's jobs are eligible, and not only how many places are taken.
    local function tracks(group, rule)
        return rule.rate or window_of(group, rule) < most_of(rule)
    end

    -- How a group stands: what it owes its rate, until when it is closed, when to look again; 0 where there is nothing.
    local function stand_of(group)
        local packed = redis.call('HGET', P .. 'stands', group)
        if not packed then return {tat = 0, closed = 0, wake = 0, words = ''} end
        local tat, closed, wake, at = struct.unpack('<ddd', packed)
        return {tat = tat, closed = closed, wake = wake, words = packed:sub(at), packed = packed}
    end

    -- Have eligible jobs of a group wait in line again, where they were before; says whether some are left.
    local function pull_back(group)
        flush()
        local ids, placed = {}, P .. 'placed:' .. group
        if pulled < WIDE then ids = redis.call('ZRANGEBYSCORE', placed, '1', '1', 'LIMIT', '0', digits(WIDE - pulled)) end
        pulled = pulled + #ids
        read_heads(ids)
        for _, id in ipairs(ids) do
            local h = known(id, 'placed:' .. group)
            if h then
                lift(id, h)
                h.state, h.version = WAITING, h.version + 1
                put(id, h)
            end
        end
        flush()
        local left = pulled >= WIDE and redis.call('ZCOUNT', placed, '1', '1') > 0
        redis.call(left and 'SADD' or 'SREM', P .. 'closing', group)
        return left
    end

    -- Note what was done to a group.
    local function apply(group, stand, rule, deed)
        if deed.started > 0 and rule.rate then
            stand.tat = math.max(stand.tat, now) + deed.started * gap_of(rule.rate)
        end
        local was_closed = stand.closed > 0
        if deed.close then stand.closed, stand.words = deed.close, deed.words end
        if deed.open or stand.closed <= now then
            stand.closed, stand.words = 0, ''
            if was_closed then redis.call('SREM', P .. 'closing', group) end
        elseif deed.close or redis.call('SISMEMBER', P .. 'closing', group) == 1 then
            stand.left = pull_back(group)
        end
    end

    -- How many jobs may get a place now.
    local function room_of(group, rule, stand, taken, ready)
        if stand.closed > now then return 0 end
        local room = math.min(WIDE, most_of(rule) - taken)
        if ready then
            room = math.min(room, window_of(group, rule) - ready)
            if rule.rate then room = math.min(room, tokens(rule.rate, stand.tat) - ready) end
        end
        return math.max(0, room)
    end

    -- When to look at a group again without being asked; 0 for never. `more`: others may be in line.
    local function wake_of(rule, stand, taken, ready, more, cut)
        if stand.closed > now then return stand.left and now or stand.closed < NEVER and stand.closed or 0 end
        if cut then return now end
        if more and rule.rate and ready < rule.rate.burst then
            local at = opens_at(rule.rate, stand.tat, ready + 1)
            if at > now then return at end
        end
        -- Nobody will come by to see that it is not in use any more.
        return taken == 0 and stand.tat > now and math.ceil(stand.tat) or 0
    end

    -- Write how a group stands, if that is not as it was, and whether it is in use.
    local function write_stand(group, stand, taken)
        local packed = false
        if stand.closed > now or stand.tat > now or stand.wake > 0 then
            packed = struct.pack('<ddd', stand.tat, stand.closed, stand.wake) .. stand.words
        end
        if packed ~= (stand.packed or false) then
            if packed then store('stands', group, packed) else unstore('stands', group) end
            if stand.wake > 0 then join_set('waking', digits(stand.wake), group) else leave_set('waking', group) end
        end
        if packed or taken > 0 then join_set('groups', '0', group) else leave_set('groups', group) end
    end

    -- See who may get a place in a group now; they are noted as heirs.
    local function look_at(group, rule, deed)
        local stand = stand_of(group)
        if rule.rate then stand.tat = owed(rule.rate, stand.tat) end
        apply(group, stand, rule, deed)
        local taken, ready = redis.call('ZCARD', P .. 'placed:' .. group), nil
        if tracks(group, rule) then ready = redis.call('ZCOUNT', P .. 'placed:' .. group, '1', '1') end
        local room = room_of(group, rule, stand, taken, ready)
        local asked = math.min(room, math.max(0, MOST_HEIRS - #heirs))
        local ids = asked > 0 and redis.call('ZRANGE', P .. 'waiting:' .. group, '0', digits(asked - 1)) or {}
        for _, id in ipairs(ids) do heirs[#heirs + 1] = {id = id, group = group, fair = rule.fair ~= false} end
        taken, ready = taken + #ids, (ready or 0) + #ids
        local more = #ids == asked
        stand.wake = wake_of(rule, stand, taken, ready, more, more and room > 0 and (asked < room or room == WIDE))
        write_stand(group, stand, taken)
    end

    -- Give the heirs their places: they may be leased. In a group that is shared fairly they come behind all who had theirs before.
    local function admit()
        local ids = {}
        for i, heir in ipairs(heirs) do ids[i] = heir.id end
        read_heads(ids)
        for _, heir in ipairs(heirs) do
            local h = known(heir.id, 'waiting:' .. heir.group)
            if h then
                lift(heir.id, h)
                local due = h.due
                h.due = now
                h.rank = heir.fair and rank_of(h) or tied(h).turn
                h.state, h.due, h.version, h.heir = QUEUED, due, h.version + 1, true
                put(heir.id, h)
                has_work(h.queue, h.lane)
            end
        end
    end

    flush()
    local done = deeds
    deeds, heirs = {}, {}
    for group, deed in pairs(done) do
        local rule = rule_of(group)
        if deed.look or deed.close or deed.open or tracks(group, rule) then look_at(group, rule, deed) end
    end
    flush()
    admit()
    deeds = {}
    return #heirs
end

-- The same, if anything was done to a group: functions are made only then.
local function refill()
    return next(deeds) and hand_over() or 0
end

-- Have groups looked at in which time alone has changed something, at most so many; says how many.
local function wake_groups(limit)
    local groups = redis.call('ZRANGEBYSCORE', P .. 'waking', '-inf', digits(now), 'LIMIT', '0', digits(limit))
    for _, group in ipairs(groups) do deed_of(group).look = true end
    return #groups
end

-- Have groups of families looked at whose rule has changed, at most so many; says how many.
local function stir_groups(limit)
    local stirred, n = redis.call('HGETALL', P .. 'stirred'), 0
    for i = 1, #stirred, 2 do
        local family, after = stirred[i], stirred[i + 1]
        local from = after == '' and '[' .. family .. '\t' or '(' .. after
        local groups = redis.call('ZRANGEBYLEX', P .. 'groups', from, '(' .. family .. '\n', 'LIMIT', '0', digits(limit - n))
        for _, group in ipairs(groups) do deed_of(group).look = true end
        if #groups < limit - n then
            redis.call('HDEL', P .. 'stirred', family)
        elseif #groups > 0 then
            redis.call('HSET', P .. 'stirred', family, groups[#groups])
        end
        n = n + #groups
    end
    return n
end

-- When time alone changes something in a group.
local function first_wake()
    return tonumber(redis.call('ZRANGE', P .. 'waking', '0', '0', 'WITHSCORES')[2]) or NEVER
end

-- Fewer jobs wait in a queue, or go on: those that it has held until now, and holds no longer, are news.
local function wake_held()
    local ebbs = false
    for field, n in pairs(counts) do ebbs = ebbs or (n < 0 and field:match('^[2347] ')) end
    if not ebbs or not are_limits() then return end
    for _, queue in ipairs(redis.call('HKEYS', P .. 'limits')) do
        local bounds = limits_of(queue)
        if is_held(bounds, number_before) and not is_held(bounds, number_of) then has_work(queue) end
    end
end

local function conclude()
    refill()
    flush()
    if freed then
        for _, queue in ipairs(redis.call('SMEMBERS', P .. 'gated')) do has_work(queue) end
    end
    wake_held()
    -- One write for each number: sweeps drop what came to nothing, and add fresh numbers to those of a minute and of all time.
    for field, n in pairs(counts) do
        -- Where only so many jobs may run, the end of one is news to whoever waits for a place.
        local queue = n < 0 and field:match('^3 (.*)$')
        local bounds = queue and limits_of(queue)
        if bounds and bounds.concurrency < NEVER then has_work(queue) end
        if n ~= 0 then redis.call('HINCRBY', P .. 'counts', field, digits(n)) end
    end
    for field, n in pairs(flows) do
        redis.call('HINCRBY', P .. 'fresh', digits(math.floor(now / 60000)) .. '\0' .. field, digits(n))
    end
    for reply, portions in pairs(told) do
        for _, portion in ipairs(portions) do
            hint(reply, '[' .. table.concat(portion, ',') .. ']')
        end
    end
    for session in pairs(orders) do hint('session:' .. session, '') end
    for queue, payload in pairs(wakes) do hint('queue:' .. queue, payload) end
end
