#!lua flags=no-writes,allow-oom
-- How many jobs came and went: since the store began, or minute by minute.
-- Needs: start
-- In: ARGV[3] the first minute, or empty for the totals; ARGV[4] the one behind the last, or empty for that after now.
-- Out: the fresh numbers flat, each named by its minute first; then the totals flat, or for each minute the minute, and
--     its numbers flat. What is fresh is in none of the others.
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {redis.call('HGETALL', P .. 'fresh')}
if ARGV[3] == '' then
    reply[2] = redis.call('HGETALL', P .. 'flow')
    return reply
end
local last = ARGV[4] ~= '' and ARGV[4] or math.floor(now / 60000) + 1
for _, minute in ipairs(redis.call('ZRANGEBYSCORE', P .. 'minutes', ARGV[3], '(' .. last)) do
    reply[#reply + 1] = minute
    reply[#reply + 1] = redis.call('HGETALL', P .. 'flow:' .. minute)
end
return reply
