#!lua flags=no-writes,allow-oom
-- Jobs that a session holds, a page of them.
-- Needs: start, rows
-- In: ARGV[3] session; ARGV[4] '[' or '(' and the id where the page begins, or '-'; ARGV[5] how many.
-- Out: [now, 1 if the session is open, worker or null, 1 if it is known which starts had begun, evidence or null, then for
--     each job the starts that had begun, or null, and it as rows.lua says].
-- Locks: nothing; write.lua sees by the versions whether the answer still holds.
-- Safe to repeat: yes.
local about = redis.call('HMGET', P .. 'session:' .. ARGV[3], 'worker', 'known', 'evidence')
local reply = {
    string.format('%.0f', now), redis.call('ZSCORE', P .. 'sessions', ARGV[3]) and 1 or 0, about[1],
    about[2] == '1' and 1 or 0, about[3],
}
for _, id in ipairs(redis.call('ZRANGEBYLEX', P .. 'held:' .. ARGV[3], ARGV[4], '+', 'LIMIT', 0, ARGV[5])) do
    reply[#reply + 1] = redis.call('HGET', P .. 'begun:' .. ARGV[3], id)
    row(reply, id)
end
return reply
