#!lua flags=allow-oom
-- Pause a queue, or resume it. If it is paused already, only the words and the end are changed.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] queue; ARGV[4] 1 to pause it; ARGV[5] until when, or empty; ARGV[6] the words, as JSON.
-- Out: [the packed pause, or nothing if it is not paused now; its packed limits, or nothing].
-- Locks: nothing else.
-- Safe to repeat: yes.
local queue = ARGV[3]
local pauses = redis.call('HGETALL', P .. 'pauses')
for i = 1, #pauses, 2 do
    if select(2, struct.unpack('<dd', pauses[i + 1])) <= now then redis.call('HDEL', P .. 'pauses', pauses[i]) end
end
local until_when = ARGV[5] == '' and NEVER or tonumber(ARGV[5])
if ARGV[4] == '1' and until_when > now then
    local before = redis.call('HGET', P .. 'pauses', queue)
    local since = before and struct.unpack('<d', before) or now
    local pause = struct.pack('<dd', since, until_when) .. ARGV[6]
    redis.call('HSET', P .. 'pauses', queue, pause)
    return {pause, redis.call('HGET', P .. 'limits', queue)}
end
redis.call('HDEL', P .. 'pauses', queue)
has_work(queue)
conclude()
return {false, redis.call('HGET', P .. 'limits', queue)}
