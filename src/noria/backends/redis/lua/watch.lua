#!lua flags=allow-oom
-- Have the outcome of jobs that have not ended told to a reply channel; the last one who asks is told.
-- Needs: start, heads
-- In: ARGV[3] channel; then the ids. Out: nothing.
-- Locks: the server, about 5 microseconds for each job.
-- Safe to repeat: yes.
for at = 4, #ARGV do
    local h = head_of(ARGV[at])
    if h and h.state < SUCCEEDED and h.reply ~= ARGV[3] then
        h.reply = ARGV[3]
        redis.call('HSET', P .. 'head', ARGV[at], pack_head(h))
    end
end
return redis.status_reply('OK')
