#!lua flags=allow-oom
-- Change some limits of a queue.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] queue; ARGV[4] to ARGV[8] 1 for newest first, ageing, greatest age, greatest length, and how many may run: each
--     a number, 'n' for what is usual, or empty where nothing changes.
-- Out: [the packed pause, or nothing if it is not paused now; its packed limits, or nothing].
-- Locks: nothing else.
-- Safe to repeat: yes.
local queue = ARGV[3]
local usual = {0, AGEING, NEVER, NEVER, NEVER}
local packed = redis.call('HGET', P .. 'limits', queue)
local bounds = packed and {struct.unpack('<ddddd', packed)} or {unpack(usual)}
local differs = false
for i, plain in ipairs(usual) do
    local word = ARGV[3 + i]
    if word == 'n' then bounds[i] = plain elseif word ~= '' then bounds[i] = tonumber(word) end
    differs = differs or bounds[i] ~= plain
end
if differs then
    packed = struct.pack('<ddddd', unpack(bounds, 1, 5))
    redis.call('HSET', P .. 'limits', queue, packed)
else
    packed = false
    redis.call('HDEL', P .. 'limits', queue)
end
has_work(queue)
conclude()
local pause = redis.call('HGET', P .. 'pauses', queue)
return {pause and select(2, struct.unpack('<dd', pause)) > now and pause, packed}
