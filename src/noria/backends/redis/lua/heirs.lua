#!lua flags=allow-oom
-- Tell jobs of the ends of those that they wait for, and let them go on, or end as cancelled.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] how many are told at most; ARGV[4] for how long records of ended jobs are kept; ARGV[5] milliseconds within
--     which a job that becomes due still wakes workers.
-- Out: 1 if some are left, else 0.
-- Locks: the server, about 20 microseconds for each.
-- Safe to repeat: yes; who was told waits for that one no more.
local WORDS = {[FAILED] = 'failed', [CANCELLED] = 'cancelled', [EXPIRED] = 'expired'}
local left, keep_for, soon = tonumber(ARGV[3]), tonumber(ARGV[4]), now + tonumber(ARGV[5])

local function uuid(id)
    local text = hex(id)
    return table.concat({text:sub(1, 8), text:sub(9, 12), text:sub(13, 16), text:sub(17, 20), text:sub(21)}, '-')
end

-- Why a job will not run, if that is certain now; in the words of model/after.py.
local function refused(on, parent, state, pending, spoiled)
    if on == 'failure' then
        if pending > 0 or spoiled then return end
        return 'it was to follow a failure, and all that it waited for succeeded'
    end
    if on == 'complete' or state == SUCCEEDED then return end
    return 'it waited for job ' .. uuid(parent) .. ', which ended as ' .. WORDS[state]
end

local function cancel(id, h, why)
    lift(id, h)
    h.state, h.finished, h.version = CANCELLED, now, h.version + 1
    store('why', id, '{"reason":"parent","message":' .. cjson.encode(why) .. '}')
    put(id, h, now + keep_for)
    happened(h, 'cancelled')
    tell_end(id, h)
end

-- Its place in the queue is that of a job which comes now.
local function release(id, h)
    lift(id, h)
    h.state = h.due <= now and QUEUED or SCHEDULED
    h.due = math.max(h.due, now)
    h.rank, h.version = rank_of(h), h.version + 1
    put(id, h)
    unfollow(id)
    if h.due <= soon then has_work(h.queue, h.lane) end
end

local function tell_heir(id, parent, state)
    local h, stored = head_of(id), redis.call('HGET', P .. 'pending', id)
    if not h or h.state ~= WAITING or not stored then return end
    if redis.call('SREM', P .. 'awaits:' .. id, parent) == 0 then return end
    local n, before = stored:match('^(%d+) (%d)$')
    local pending, spoiled = tonumber(n) - 1, before == '1' or state ~= SUCCEEDED
    local on = redis.call('HGET', P .. 'card', id):match('"on":"(%a+)"') or 'success'
    local why = refused(on, parent, state, pending, spoiled)
    if why then
        cancel(id, h, why)
    elseif pending == 0 then
        release(id, h)
    else
        redis.call('HSET', P .. 'pending', id, pending .. (spoiled and ' 1' or ' 0'))
    end
end

while left > 0 do
    local first = redis.call('LINDEX', P .. 'untold', 0)
    if not first then break end
    local parent, state = first:sub(1, 16), tonumber(first:sub(17))
    local heirs = redis.call('SPOP', P .. 'heirs:' .. parent, left)
    if #heirs < left then redis.call('LPOP', P .. 'untold') end
    read_heads(heirs)
    for _, id in ipairs(heirs) do tell_heir(id, parent, state) end
    left = left - #heirs
end
conclude()
return redis.call('LLEN', P .. 'untold') > 0 and 1 or 0
