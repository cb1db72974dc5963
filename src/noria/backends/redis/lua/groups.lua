#!lua flags=no-writes,allow-oom
-- How groups stand, for people.
-- Needs: start
-- In: ARGV[3] how many holders are named; ARGV[4] to which number those that wait are counted; then the groups, each as its
--     family and key with a tab between.
-- Out: [now, then for each its rule or nothing, how it stands packed or nothing, how many places are taken, the ids of holders
--     as one text, how many wait; of one that is not in use all of it is nothing].
-- Locks: nothing.
-- Safe to repeat: yes.
local reply, named, most = {string.format('%.0f', now)}, tonumber(ARGV[3]), tonumber(ARGV[4])
for at = 5, #ARGV do
    local group, n = ARGV[at], #reply
    for i = 1, 5 do reply[n + i] = false end
    if redis.call('ZSCORE', P .. 'groups', group) then
        reply[n + 1] = redis.call('HGET', P .. 'families', group:match('^[^\t]+'))
        reply[n + 2] = redis.call('HGET', P .. 'stands', group)
        reply[n + 3] = redis.call('ZCARD', P .. 'placed:' .. group)
        reply[n + 4] = table.concat(redis.call('ZRANGE', P .. 'placed:' .. group, '0', named - 1))
        reply[n + 5] = math.min(most, redis.call('ZCARD', P .. 'waiting:' .. group))
    end
end
return reply
