#!lua flags=allow-oom
-- Change some limits of a queue.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] queue; ARGV[4] to ARGV[8] 1 for newest first, ageing, greatest age, greatest length, and how many may run: each
--     a number, 'n' for what is usual, or empty where nothing changes; ARGV[9] the same for the high water, as JSON.
-- Out: [the packed pause, or nothing if it is not paused now; its packed limits, or nothing; and, if the queue would be
--     held by itself and nothing was done, all limits, flat].
-- Locks: nothing else.
-- Safe to repeat: yes.
local queue = ARGV[3]
local usual = {0, AGEING, NEVER, NEVER, NEVER}
local packed = redis.call('HGET', P .. 'limits', queue)
local water = packed and packed:sub(41) or ''
if ARGV[9] ~= '' then water = ARGV[9] == 'n' and '' or ARGV[9] end

-- Whether a queue is held by this one, through whatever others.
local function comes_back(at, seen)
    local marks = at == queue and water or (redis.call('HGET', P .. 'limits', at) or ''):sub(41)
    for other in pairs(marks ~= '' and cjson.decode(marks) or {}) do
        if other == queue then return true end
        if not seen[other] then
            seen[other] = true
            if comes_back(other, seen) then return true end
        end
    end
    return false
end

if ARGV[9]:sub(1, 1) == '{' and comes_back(queue, {}) then
    return {false, false, redis.call('HGETALL', P .. 'limits')}
end
local bounds = packed and {struct.unpack('<ddddd', packed)} or {unpack(usual)}
local differs = water ~= ''
for i, plain in ipairs(usual) do
    local word = ARGV[3 + i]
    if word == 'n' then bounds[i] = plain elseif word ~= '' then bounds[i] = tonumber(word) end
    differs = differs or bounds[i] ~= plain
end
if differs then
    packed = struct.pack('<ddddd', unpack(bounds, 1, 5)) .. water
    redis.call('HSET', P .. 'limits', queue, packed)
else
    packed = false
    redis.call('HDEL', P .. 'limits', queue)
end
has_work(queue)
conclude()
local pause = redis.call('HGET', P .. 'pauses', queue)
return {pause and select(2, struct.unpack('<dd', pause)) > now and pause, packed}
