-- Where jobs stand: the sets that a job is in because of its head, and the numbers that follow from them.
-- `lift` and `put` are the only way in which any job changes its place, so that no set and no count is ever forgotten.
-- Gives: holder_of_key, free_key, are_limits, limits_of, is_held, rank_of, bound, too_old, number_before, number_of, happened, known, lift, put, drop, strip, adopt,
--     has_work, order, tell, tell_end, ready_line, parked_line, hex, close_group, bequeath, unfollow, awaited.
local counts, flows, wakes, orders, told = {}, {}, {}, {}, {}
-- limits.AGEING in milliseconds, and limits.MAX_HINT; a test compares.
local AGEING = 3600000
local MAX_HINT = 4096
-- What a job has beside its head.
local PARTS = {'body', 'card', 'result', 'why', 'log', 'change'}

local function count(queue, state, n)
    local field = state .. ' ' .. queue
    counts[field] = (counts[field] or 0) + n
end

-- How many there were before this script.
local function number_before(queue, state)
    return tonumber(redis.call('HGET', P .. 'counts', state .. ' ' .. queue)) or 0
end

-- What has happened in this script is in the number.
local function number_of(queue, state)
    return number_before(queue, state) + (counts[state .. ' ' .. queue] or 0)
end

-- Limits of queues that this script has read; false where there are none. `limited`: whether any queue has some.
local limits, limited = {}, nil

local function are_limits()
    if limited == nil then limited = redis.call('EXISTS', P .. 'limits') == 1 end
    return limited
end

-- The limits of a queue, as limit.lua packs them; nothing if it has none.
local function limits_of(queue)
    if not are_limits() then return nil end
    if limits[queue] == nil then
        local packed = redis.call('HGET', P .. 'limits', queue)
        limits[queue] = false
        if packed then
            local newest, ageing, max_age, max_length, concurrency, at = struct.unpack('<ddddd', packed)
            limits[queue] = {
                newest = newest == 1, ageing = ageing, max_age = max_age, max_length = max_length,
                concurrency = concurrency, high_water = at <= #packed and cjson.decode(packed:sub(at)),
            }
        end
    end
    return limits[queue] or nil
end

-- Whether nothing of a queue of these limits is leased, since another backs up; see `backs_up` in model/queue.py.
-- `of`: which numbers count.
local function is_held(bounds, of)
    for other, most in pairs(bounds and bounds.high_water or {}) do
        local queued = of(other, QUEUED)
        local waiting = queued + of(other, WAITING) + of(other, PARKED)
        if waiting >= most and (queued > 0 or of(other, RUNNING) > 0) then return true end
    end
    return false
end

-- The place of a job in its queue; see model/job.py.
local function rank_of(h)
    local bounds = limits_of(h.queue)
    if not bounds then return h.due - h.priority * AGEING end
    return (bounds.newest and -h.due or h.due) - h.priority * bounds.ageing
end

-- Note in its head whether its queue lets a job that waits become only so old.
local function bound(h)
    local bounds = h.state < SUCCEEDED and h.state ~= RUNNING and limits_of(h.queue)
    h.aged = bounds and bounds.max_age < NEVER and not begun(h) and 1 or 0
end

-- Whether a job that waits is older than its queue lets it become.
local function too_old(id, h)
    return h.aged == 1 and (tonumber(redis.call('ZSCORE', P .. 'lapsing', id)) or NEVER) <= now
end

-- What has happened to jobs of a task; see model/flow.py.
local function happened(h, word, n)
    local field = word .. '\0' .. h.queue .. '\0' .. h.task
    flows[field] = (flows[field] or 0) + (n or 1)
end

-- Wake those who wait for jobs of this queue, in any lane unless one is named.
local function has_work(queue, lane)
    local payload = lane and tostring(lane) or ''
    local before = wakes[queue]
    wakes[queue] = (before == nil or before == payload) and payload or ''
end

-- Have the worker of a session ask for its orders.
local function order(session)
    orders[session] = true
end

-- Have an outcome told to whoever waits for it: one line of JSON, or less of it if it fits into no hint.
local function tell(reply, line, short)
    if #line > MAX_HINT - 2 then line = short end
    local portions = told[reply]
    if not portions then
        portions = {{size = 1}}
        told[reply] = portions
    end
    local last = portions[#portions]
    if last.size + #line + 1 > MAX_HINT then
        last = {size = 1}
        portions[#portions + 1] = last
    end
    last[#last + 1] = line
    last.size = last.size + #line + 1
end

local function hex(id)
    return string.format('%08x%08x%08x%08x', struct.unpack('>I4I4I4I4', id))
end

-- The head of a job that a set names. One that has none, since somebody has deleted it behind our back, leaves the set.
local function known(id, set)
    local h = head_of(id)
    if not h then
        redis.call('ZREM', P .. set, id)
        redis.log(redis.LOG_WARNING, 'noria: job ' .. hex(id) .. ' has no head any more; it leaves ' .. set)
    end
    return h
end

-- Have the end of a job without a value told.
local function tell_end(id, h)
    if h.reply ~= '' then
        local line = '["' .. hex(id) .. '",' .. h.state .. ',"json",null]'
        tell(h.reply, line, line)
    end
end

-- The line in which a job waits to be leased: ready, suspect, parked, or parked suspect; those that are tied have their own.
local function line_kind(h)
    local suspect = h.crashes >= SUSPECT_AT
    if h.tie ~= '' then
        if h.state == PARKED then return suspect and 'w' or 'v' end
        return suspect and 'z' or 'b'
    end
    if h.state == PARKED then return suspect and 'y' or 'p' end
    return suspect and 'x' or 'q'
end

local function ready_line(kind, lane, queue)
    return kind .. lane .. ':' .. queue
end

local function parked_line(kind, lane, queue, task)
    return kind .. lane .. ':' .. queue .. '\0' .. task
end

local function park(id, h)
    local kind = line_kind(h)
    join_set('parked', h.began, id)
    join_set(parked_line(kind, h.lane, h.queue, h.task), h.rank, id)
    redis.call('HINCRBY', P .. 'parked:' .. h.queue, kind .. h.lane .. '\0' .. h.task, 1)
end

local function unpark(id, h)
    local kind = line_kind(h)
    local field = kind .. h.lane .. '\0' .. h.task
    leave_set('parked', id)
    leave_set(parked_line(kind, h.lane, h.queue, h.task), id)
    if redis.call('HINCRBY', P .. 'parked:' .. h.queue, field, -1) == 0 then
        redis.call('HDEL', P .. 'parked:' .. h.queue, field)
    end
end

-- A dead letter stands with those that are alike.
local function bury(id, h, mark)
    store('marks', id, mark)
    join_set('alike:' .. mark, h.finished, id)
    redis.call('ZINCRBY', P .. 'marked', 1, mark)
    join_set('dead', 0, id)
    count(h.queue, 'dead', 1)
end

local function unbury(id, h)
    local mark = redis.call('HGET', P .. 'marks', id)
    unstore('marks', id)
    leave_set('dead', id)
    leave_set('alike:' .. mark, id)
    if tonumber(redis.call('ZINCRBY', P .. 'marked', -1, mark)) <= 0 then
        redis.call('ZREM', P .. 'marked', mark)
    end
    count(h.queue, 'dead', -1)
end

local function leave(id, h)
    local state = h.state
    if h.tie ~= '' then ties().leave(id, h) end
    if state == RUNNING then
        leave_set('held:' .. h.session, id)
        if h.cancelling == 1 then redis.call('HDEL', P .. 'cancels:' .. h.session, id) end
    elseif state == QUEUED then
        leave_set(ready_key(line_kind(h), h.lane, h.queue, h), id)
    elseif state == SCHEDULED or state == RETRYING then
        leave_set('due:' .. h.queue, id)
    elseif state == PARKED then
        unpark(id, h)
    elseif state == WAITING then
        if h.kin >= 16 then leave_set('following', id) end
    elseif state == ERASED then
        leave_set('erased', id)
    else
        if h.dead == 1 then
            unbury(id, h)
            leave_set('kept_dead', id)
        else
            leave_set('kept', id)
        end
        if state ~= SUCCEEDED then leave_set('ended:' .. state, id) end
    end
    if state < SUCCEEDED and state ~= RUNNING and (h.aged == 1 or lapse_of(h) < NEVER) then
        leave_set('lapsing', id)
    end
end

local function arrive(id, h, prune_at, mark)
    local state = h.state
    if h.tie ~= '' then ties().arrive(id, h) end
    if state == RUNNING then
        join_set('held:' .. h.session, '0', id)
    elseif state == QUEUED then
        join_set(ready_key(line_kind(h), h.lane, h.queue, h), digits(h.rank), id)
    elseif state == SCHEDULED or state == RETRYING then
        join_set('due:' .. h.queue, digits(h.due), id)
    elseif state == PARKED then
        park(id, h)
    elseif state == WAITING then
        if h.kin >= 16 then join_set('following', 0, id) end
    elseif state == ERASED then
        join_set('erased', prune_at, id)
    else
        if h.dead == 1 then
            bury(id, h, mark)
            join_set('kept_dead', prune_at, id)
        else
            join_set('kept', digits(prune_at), id)
        end
        if state ~= SUCCEEDED then join_set('ended:' .. state, 0, id) end
    end
    if state < SUCCEEDED and state ~= RUNNING then
        local lapse = lapse_of(h)
        if h.aged == 1 then lapse = math.min(lapse, h.due + limits_of(h.queue).max_age) end
        if lapse < NEVER then join_set('lapsing', lapse, id) end
    end
end

-- The job that holds the unique key of this one, or nothing. Where a time follows the id, the key is free after it.
local function holder_of_key(h)
    local found = redis.call('HGET', P .. 'keys', h.task .. '\0' .. h.unique)
    if not found or #found == 16 then return found end
    return struct.unpack('<d', found:sub(17)) > now and found:sub(1, 16)
end

-- Have a job hold its key no more, if it does.
local function free_key(id, h)
    local found = redis.call('HGET', P .. 'keys', h.task .. '\0' .. h.unique)
    if found and found:sub(1, 16) == id then redis.call('HDEL', P .. 'keys', h.task .. '\0' .. h.unique) end
end

-- A key belongs to its job for as long as that lives (1), until its first lease (2), until a time (3), or no more (4).
local function hand_key(id, h)
    if h.keyed == 4 then return end
    local lived, lives = h.was and h.was < SUCCEEDED, h.state < SUCCEEDED
    if h.keyed == 3 then
        if not h.was then
            redis.call('HSET', P .. 'keys', h.task .. '\0' .. h.unique, id .. struct.pack('<d', h.till))
        elseif h.state == ERASED then
            free_key(id, h)
        end
        return
    elseif h.keyed == 2 and h.starts > 0 then
        lived, lives = h.starts == 1 and h.state == RUNNING and h.was ~= RUNNING, false
    end
    if lives and not lived then
        redis.call('HSET', P .. 'keys', h.task .. '\0' .. h.unique, id)
    elseif lived and not lives then
        redis.call('HDEL', P .. 'keys', h.task .. '\0' .. h.unique)
    end
end

-- Have a follow-up found by the job that asked for it, which its card names.
local function adopt(id, card)
    local parent = card:match('"parent_id":"(%x+)"')
    store('parents', id, parent)
    join_set('children:' .. parent, 0, id)
end

local function disown(id, h)
    if bit.band(h.kin, 1) == 1 then
        leave_set('children:' .. redis.call('HGET', P .. 'parents', id), id)
        unstore('parents', id)
    end
    if bit.band(h.kin, 2) == 2 then unstore('linked', id) end
end

-- No reader finds the job any more.
local function hide(id, h)
    leave_set('ids', id)
    if h.correlation ~= '' then leave_set('correlated:' .. h.correlation, id) end
    if h.kin > 0 then disown(id, h) end
end

-- Drop everything about a job but its head.
local function strip(id)
    for _, part in ipairs(PARTS) do unstore(part, id) end
end

-- Take a job from its place; whoever lifts one puts it down again, or drops it.
local function lift(id, h)
    if moved[id] then flush() end
    leave(id, h)
    if h.state ~= ERASED then count(h.queue, h.state, -1) end
    h.was = h.state
end

-- A job has ended for which others wait: that is noted for heirs.lua, behind the letters of the script too.
local awaited = ''

local function bequeath(id, state)
    redis.call('RPUSH', P .. 'untold', id .. state)
    awaited = '+'
end

-- A job waits for others no more.
local function unfollow(id)
    redis.call('DEL', P .. 'awaits:' .. id)
    redis.call('HDEL', P .. 'pending', id)
end

-- Put a job where its head says that it stands. Of one that has ended, `prune_at` says when its record may go, and `mark`
-- which other dead letters it is like. `packed` saves packing its head, if that is known, and `bound` before.
local function put(id, h, prune_at, mark, packed)
    if not packed then
        if h.tie ~= '' then ties().line_up(id, h) end
        bound(h)
        packed = pack_head(h)
    end
    heads[id], moved[id] = packed, gathers
    store('head', id, packed)
    if not h.was then
        join_set('ids', '0', id)
        if h.correlation ~= '' then join_set('correlated:' .. h.correlation, '0', id) end
    end
    arrive(id, h, prune_at, mark)
    count(h.queue, h.state == ERASED and 'erased' or h.state, 1)
    if h.state == ERASED then hide(id, h) end
    if h.keyed > 0 then hand_key(id, h) end
    if h.kin >= 4 and h.was then
        if h.was == WAITING and h.state ~= WAITING then unfollow(id) end
        if bit.band(h.kin, 4) == 4 and h.was < SUCCEEDED and h.state >= SUCCEEDED then
            bequeath(id, h.state == ERASED and SUCCEEDED or h.state)
        end
    end
end

-- Forget a job that was lifted.
local function drop(id, h)
    if h.was ~= ERASED then hide(id, h) end
    if h.keyed == 3 then free_key(id, h) end
    heads[id] = false
    unstore('head', id)
    strip(id)
end

-- Have the group of a job closed until a time, by itself; nothing if there is no time.
local function close_group(id, h, until_when)
    local group = until_when and tied(h).group
    if not group or group == '' then return end
    local deed, text = deed_of(group), hex(id)
    local uuid = text:gsub('^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)', '%1-%2-%3-%4-')
    deed.close, deed.words = tonumber(until_when), cjson.encode({'', 'by job ' .. uuid})
end
