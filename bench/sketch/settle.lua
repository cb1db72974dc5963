#!lua
-- End jobs that a session holds: result, freed unique key, follow-up, and the next job of the group, in one step.
-- In: KEYS[1] prefix; ARGV[1] session; then for each job its id, result, id of its follow-up or '', and its body.
-- Out: a letter for each: 'o' done, 'a' already, 's' stale.
-- A head is packed: state, starts, session, queue, group, unique key.
local P, session = KEYS[1], ARGV[1]
local LAYOUT = '<BI4ssss'

local function follow(queue, id, body)
    redis.call('HSET', P .. 'body', id, body)
    redis.call('HSET', P .. 'head', id, struct.pack(LAYOUT, 2, 0, '', queue, '', ''))
    redis.call('ZADD', P .. 'q:' .. queue, 1, id)
end

-- The place goes to whoever waits first; only if nobody does is it free.
local function refill(queue, group)
    local first = redis.call('ZPOPMIN', P .. 'w:' .. group)
    if first[1] then
        redis.call('ZADD', P .. 'q:' .. queue, first[2], first[1])
    else
        redis.call('HINCRBY', P .. 'taken', group, -1)
    end
end

local function settle(at)
    local id = ARGV[at]
    local packed = redis.call('HGET', P .. 'head', id)
    if not packed then return 's' end
    local state, starts, holder, queue, group, key = struct.unpack(LAYOUT, packed)
    if holder ~= session or starts ~= 1 then return 's' end
    if state ~= 3 then return 'a' end
    redis.call('HSET', P .. 'head', id, struct.pack(LAYOUT, 10, starts, holder, queue, group, ''))
    redis.call('HSET', P .. 'result', id, ARGV[at + 1])
    redis.call('SREM', P .. 'held:' .. session, id)
    if key ~= '' then redis.call('HDEL', P .. 'live', key) end
    if ARGV[at + 2] ~= '' then follow(queue, ARGV[at + 2], ARGV[at + 3]) end
    if group ~= '' then refill(queue, group) end
    return 'o'
end

local verdicts = {}
for at = 2, #ARGV, 4 do verdicts[#verdicts + 1] = settle(at) end
return table.concat(verdicts)
