#!lua flags=allow-oom
-- Drop what was written down about jobs whose records are gone.
-- Needs: start, heads, notes
-- In: ARGV[3] how many are looked at, at most; ARGV[4] milliseconds after which the others are looked at again.
-- Out: nothing.
-- Locks: the server, about 10 microseconds for each job.
-- Safe to repeat: yes.
local later = digits(now + tonumber(ARGV[4]))
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. 'noted', '-inf', now, 'LIMIT', 0, ARGV[3])) do
    local h = head_of(id)
    if h and h.state ~= ERASED then
        redis.call('ZADD', P .. 'noted', later, id)
    else
        drop_note(id)
    end
end
return redis.status_reply('OK')
