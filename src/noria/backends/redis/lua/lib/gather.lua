-- What is written about jobs, gathered so that many jobs cost one command for each key and not one for each job. A script
-- that reads what it has written flushes first. For one job that does not pay: `gathers` says whether it is done.
-- Gives: gathers, moved, join_set, leave_set, store, unstore, flush.
local gathers = true
-- What waits: for each key the members to remove or to add with their scores, the fields to drop or to write; and the ids
-- of the jobs that it is about.
local zrem, zadd, hdel, hset, moved = {}, {}, {}, {}, {}

-- Have a word wait for a key, or two that belong together.
local function more(waiting, key, word, other)
    local words = waiting[key]
    if not words then
        waiting[key] = {word, other}
        return
    end
    local n = #words
    words[n + 1] = word
    if other then words[n + 2] = other end
end

local function leave_set(set, id)
    if gathers then more(zrem, set, id) else redis.call('ZREM', P .. set, id) end
end

local function join_set(set, score, id)
    if gathers then more(zadd, set, score, id) else redis.call('ZADD', P .. set, score, id) end
end

-- Write a part of a job beside its head.
local function store(part, id, value)
    if gathers then more(hset, part, id, value) else redis.call('HSET', P .. part, id, value) end
end

local function unstore(part, id)
    if gathers then more(hdel, part, id) else redis.call('HDEL', P .. part, id) end
end

local function send(command, waiting)
    for key, words in pairs(waiting) do
        for at = 1, #words, WIDE do
            redis.call(command, P .. key, unpack(words, at, math.min(at + WIDE - 1, #words)))
        end
        waiting[key] = nil
    end
end

-- Write what waits. A job leaves before it arrives, and drops a part before it gets another.
local function flush()
    send('ZREM', zrem)
    send('HDEL', hdel)
    send('HSET', hset)
    send('ZADD', zadd)
    moved = {}
end
