#!lua flags=allow-oom
-- Note that an ended session holds nothing more, if that is so.
-- Needs: start
-- In: ARGV[3] session. Out: OK.
-- Locks: nothing else.
-- Safe to repeat: yes.
-- A job that has no head, since somebody has deleted it behind our back, cannot come back.
local held = P .. 'held:' .. ARGV[3]
for _, id in ipairs(redis.call('ZRANGE', held, 0, 999)) do
    if redis.call('HEXISTS', P .. 'head', id) == 0 then redis.call('ZREM', held, id) end
end
if redis.call('EXISTS', held) == 0 then
    redis.call('SREM', P .. 'owing', ARGV[3])
    redis.call('DEL', P .. 'begun:' .. ARGV[3])
end
return redis.status_reply('OK')
