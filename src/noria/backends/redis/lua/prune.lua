#!lua flags=allow-oom
-- Drop what is kept no longer: records, traces, dead letters, documents, minutes, sessions.
-- Needs: start, heads, gather, ties, places, refill, prune, board
-- In: ARGV[3] how many of each kind at most; ARGV[4] how many records may be kept; ARGV[5] for how long ended sessions are
--     known; ARGV[6] minutes before this many from now are to go; ARGV[7] for how long jobs may be parked;
--     ARGV[8] minutes of leeway before they do go.
-- Out: [how many records went, 1 if there is more to do, the ended sessions that still hold jobs as one text,
--     1 if parked jobs are to be given up, when the next job is due or empty].
-- Locks: the server; at most 1,000 rows of each kind.
-- Safe to repeat: yes.
local limit, cap = tonumber(ARGV[3]), tonumber(ARGV[4])
local minute = math.floor(now / 60000) - tonumber(ARGV[6])
local sessions_before = now - tonumber(ARGV[5])

local function waits(set, before)
    return redis.call('ZCOUNT', P .. set, '-inf', before) > 0
end

local function drop_docs()
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'doc_times', '-inf', now, 'LIMIT', 0, limit)) do
        local kind, name = member:match('^([^%z]*)%z(.*)$')
        delete_doc(kind, name)
    end
end

-- A count that came to nothing says nothing.
local function drop_zeros()
    local counts, left = redis.call('HGETALL', P .. 'counts'), limit
    for i = 1, #counts, 2 do
        if counts[i + 1] == '0' and left > 0 then left = left - redis.call('HDEL', P .. 'counts', counts[i]) end
    end
end

-- Fresh numbers of minutes that are over, each as its field and number.
local function stale_numbers()
    local found, fresh, this_minute = {}, redis.call('HGETALL', P .. 'fresh'), math.floor(now / 60000)
    for i = 1, #fresh, 2 do
        if tonumber(fresh[i]:match('^%d+')) < this_minute then found[#found + 1] = {fresh[i], fresh[i + 1]} end
    end
    return found
end

-- Add fresh numbers of minutes that are over to those of their minute, and to the totals; says whether some are left.
local function add_up()
    local stale = stale_numbers()
    for i = 1, math.min(limit, #stale) do
        local minute, field = stale[i][1]:match('^(%d+)%z(.*)$')
        redis.call('HINCRBY', P .. 'flow', field, stale[i][2])
        redis.call('HINCRBY', P .. 'flow:' .. minute, field, stale[i][2])
        redis.call('ZADD', P .. 'minutes', minute, minute)
        redis.call('HDEL', P .. 'fresh', stale[i][1])
    end
    return #stale > limit
end

-- What a minute counted stays in the totals.
local function drop_minutes()
    if not waits('minutes', minute - tonumber(ARGV[8]) - 1) then return end
    for _, old in ipairs(redis.call('ZRANGEBYSCORE', P .. 'minutes', '-inf', minute - 1, 'LIMIT', 0, limit)) do
        redis.call('DEL', P .. 'flow:' .. old)
        redis.call('ZREM', P .. 'minutes', old)
    end
end

-- Settles of an unknown session are refused as those of an ended one.
local function forget_sessions()
    for _, session in ipairs(redis.call('ZRANGEBYSCORE', P .. 'ended', '-inf', sessions_before, 'LIMIT', 0, limit)) do
        if redis.call('SISMEMBER', P .. 'owing', session) == 0 then
            redis.call('DEL', P .. 'session:' .. session)
            redis.call('ZREM', P .. 'ended', session)
        end
    end
end

local function next_due()
    local next_due, due_now = NEVER, false
    for _, field in ipairs(redis.call('HKEYS', P .. 'counts')) do
        local state, queue = field:match('^(%d+) (.*)$')
        if state == '1' or state == '6' then
            local due = tonumber(redis.call('ZRANGE', P .. 'due:' .. queue, 0, 0, 'WITHSCORES')[2]) or NEVER
            next_due, due_now = math.min(next_due, due), due_now or due <= now
        end
    end
    return next_due, due_now
end

local pruned = prune_within(cap, limit)
if pruned < limit then pruned = pruned + prune('kept_dead', now, limit - pruned) end
prune('erased', now, limit)
drop_docs()
local unadded = add_up()
drop_minutes()
forget_sessions()
conclude()
drop_zeros()
local due, due_now = next_due()
local wake = first_wake()
local more = due_now or wake <= now or redis.call('EXISTS', P .. 'stirred') == 1 or unadded or waits('lapsing', now)
    or waits('kept', now) or waits('kept_dead', now) or waits('erased', now)
    or redis.call('ZCARD', P .. 'kept') > cap or waits('doc_times', now)
    or waits('minutes', minute - tonumber(ARGV[8]) - 1) or waits('ended', sessions_before)
return {
    pruned, more and 1 or 0, table.concat(redis.call('SMEMBERS', P .. 'owing'), ' '),
    waits('parked', now - tonumber(ARGV[7])) and 1 or 0,
    math.min(due, wake) < NEVER and string.format('%.0f', math.max(0, math.min(due, wake) - now)) or '',
}
