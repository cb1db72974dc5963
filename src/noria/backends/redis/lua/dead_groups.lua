#!lua flags=no-writes,allow-oom
-- Dead letters by fingerprint.
-- Needs: start
-- In: ARGV[3] how many fingerprints, the most frequent first.
-- Out: for each, flat: fingerprint, n, when the first and the last failed, id of the last.
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {}
local marked = redis.call('ZREVRANGE', P .. 'marked', 0, tonumber(ARGV[3]) - 1, 'WITHSCORES')
for i = 1, #marked, 2 do
    local alike, n = P .. 'alike:' .. marked[i], #reply
    local last = redis.call('ZREVRANGE', alike, 0, 0, 'WITHSCORES')
    reply[n + 1], reply[n + 2] = marked[i], marked[i + 1]
    reply[n + 3] = redis.call('ZRANGE', alike, 0, 0, 'WITHSCORES')[2]
    reply[n + 4], reply[n + 5] = last[2], last[1]
end
return reply
