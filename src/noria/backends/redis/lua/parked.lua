#!lua flags=no-writes,allow-oom
-- Jobs that no worker has known what to do with for too long.
-- Needs: start, rows
-- In: ARGV[3] for how long they may be parked; ARGV[4] how many at most.
-- Out: [now, then for each job as rows.lua says].
-- Locks: nothing; write.lua sees by the versions whether the answer still holds.
-- Safe to repeat: yes.
local reply = {string.format('%.0f', now)}
local before = now - tonumber(ARGV[3])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'parked', '-inf', before, 'LIMIT', 0, ARGV[4])) do row(reply, id) end
return reply
