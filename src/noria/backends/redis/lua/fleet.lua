#!lua flags=no-writes,allow-oom
-- Sessions that have not ended, with the first hundred jobs that each holds.
-- Needs: start
-- In: nothing.
-- Out: [now, then for each: session, deadline, its hash flat, how many jobs it holds, [id, …]].
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {string.format('%.0f', now)}
local sessions = redis.call('ZRANGE', P .. 'sessions', 0, -1, 'WITHSCORES')
for i = 1, #sessions, 2 do
    local n, held = #reply, P .. 'held:' .. sessions[i]
    reply[n + 1] = sessions[i]
    reply[n + 2] = sessions[i + 1]
    reply[n + 3] = redis.call('HGETALL', P .. 'session:' .. sessions[i])
    reply[n + 4] = redis.call('ZCARD', held)
    reply[n + 5] = redis.call('ZRANGE', held, 0, 99)
end
return reply
