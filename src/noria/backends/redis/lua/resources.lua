#!lua flags=no-writes,allow-oom
-- Resources, for people.
-- Needs: start
-- In: ARGV[3] how many holders are named.
-- Out: [now, then for each its name, packed, how many tokens are held, the ids of holders as one text].
-- Locks: nothing.
-- Safe to repeat: yes.
local reply, named, found = {string.format('%.0f', now)}, tonumber(ARGV[3]), redis.call('HGETALL', P .. 'resources')
for i = 1, #found, 2 do
    local n, held = #reply, P .. 'holding:' .. found[i]
    reply[n + 1], reply[n + 2], reply[n + 3] = found[i], found[i + 1], redis.call('ZCARD', held)
    reply[n + 4] = table.concat(redis.call('ZRANGE', held, '0', named - 1))
end
return reply
