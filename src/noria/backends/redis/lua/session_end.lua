#!lua flags=allow-oom
-- End a session, if it still stands where its would-be ender saw it.
-- Needs: start, heads
-- In: ARGV[3] session; ARGV[4] its beat, or empty for any; ARGV[5] JSON of the evidence, or empty; ARGV[6] 1 if it is known
--     which starts had begun; then id and starts of each of these.
-- Out: nothing if it was never opened, or its beat has moved on; else [1 if this ended it, crashed, released].
-- Locks: nothing else; the jobs come back by write.lua.
-- Safe to repeat: yes, the first one stands.
local session, key = ARGV[3], P .. 'session:' .. ARGV[3]

local function crashes(held)
    if ARGV[6] == '0' then return held end
    local crashed, seen = 0, {}
    for at = 7, #ARGV, 2 do
        local id, starts = ARGV[at], tonumber(ARGV[at + 1])
        local h = redis.call('ZSCORE', P .. 'held:' .. session, id) and head_of(id)
        if h and h.starts == starts and not seen[id] then
            redis.call('HSET', P .. 'begun:' .. session, id, starts)
            crashed, seen[id] = crashed + 1, true
        end
    end
    return crashed
end

local first = 0
if redis.call('ZSCORE', P .. 'sessions', session) then
    if ARGV[4] ~= '' and redis.call('HGET', key, 'beat') ~= ARGV[4] then return false end
    local held = redis.call('ZCARD', P .. 'held:' .. session)
    local crashed = crashes(held)
    redis.call('ZREM', P .. 'sessions', session)
    redis.call('DEL', P .. 'tasks:' .. session)
    redis.call('HSET', key, 'ended', now, 'known', ARGV[6], 'crashed', crashed, 'released', held - crashed)
    if ARGV[5] ~= '' then redis.call('HSET', key, 'evidence', ARGV[5]) end
    redis.call('ZADD', P .. 'ended', now, session)
    if held > 0 then redis.call('SADD', P .. 'owing', session) end
    first = 1
end
local told = redis.call('HMGET', key, 'crashed', 'released')
return told[1] and {first, tonumber(told[1]), tonumber(told[2])}
