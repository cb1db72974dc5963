#!lua flags=no-writes,allow-oom
-- Partial results of a job.
-- Needs: start, heads, notes
-- In: ARGV[3] id; ARGV[4] the first offset; ARGV[5] how many at most.
-- Out: nothing if there is no such job, else [the next offset, the offset of the first that is given, item, …], each item
--     behind its time and its start.
-- Locks: nothing.
-- Safe to repeat: yes.
local id, start = ARGV[3], tonumber(ARGV[4])
local h, key = head_of(id), P .. 'items:' .. id
if not h or h.state == ERASED then return false end
local n = note_of(id)
if not n then return {'0', '0'} end
local oldest = n.emitted - redis.call('LLEN', key)
local first = math.max(start, oldest)
local reply = {digits(n.emitted), digits(first)}
for _, item in ipairs(redis.call('LRANGE', key, first - oldest, first - oldest + tonumber(ARGV[5]) - 1)) do
    reply[#reply + 1] = item
end
return reply
