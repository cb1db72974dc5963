#!lua flags=no-writes,allow-oom
-- Jobs by queue and state, and when the longest waiting job of each queue became eligible.
-- Needs: start
-- In: nothing.
-- Out: [now, counts flat, pauses flat, [queue, due of the oldest ready job, …], limits flat]. The oldest is looked for among the first
--     hundred of each lane and of the suspects, so that a long queue costs no more than a short one.
-- Locks: nothing.
-- Safe to repeat: yes.
-- Where `due` begins in a head; a test compares.
local DUE_AT = 33
local counts, oldest = redis.call('HGETALL', P .. 'counts'), {}

local function oldest_of(line, before)
    local ids = redis.call('ZRANGE', line, 0, 99)
    if #ids == 0 then return before end
    for _, packed in ipairs(redis.call('HMGET', P .. 'head', unpack(ids))) do
        before = math.min(before, (struct.unpack('<d', packed, DUE_AT)))
    end
    return before
end

for i = 1, #counts, 2 do
    local state, queue = counts[i]:match('^(%d+) (.*)$')
    if state == '2' and counts[i + 1] ~= '0' then
        local due = NEVER
        for lane = 0, 2 do
            due = oldest_of(P .. 'q' .. lane .. ':' .. queue, due)
            due = oldest_of(P .. 'x' .. lane .. ':' .. queue, due)
            due = oldest_of(P .. 'z' .. lane .. ':' .. queue, due)
        end
        for _, line in ipairs(redis.call('SMEMBERS', P .. 'gates:' .. queue)) do
            local lane, gate = line:match('^(%d+)%z(.*)$')
            due = oldest_of(P .. 'b' .. lane .. ':' .. queue .. '\0' .. gate, due)
        end
        oldest[#oldest + 1] = queue
        oldest[#oldest + 1] = string.format('%.0f', due)
    end
end
return {string.format('%.0f', now), counts, redis.call('HGETALL', P .. 'pauses'), oldest, redis.call('HGETALL', P .. 'limits')}
