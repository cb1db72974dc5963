#!lua flags=no-writes,allow-oom
-- What a change or an end of these jobs has to know.
-- Needs: start, rows
-- In: ARGV[3] session, or empty; then the ids.
-- Out: [now, 1 if the session is open, the label of its worker or null, then for each job as rows.lua says].
-- Locks: nothing; write.lua sees by the versions whether the answer still holds.
-- Safe to repeat: yes.
local reply = {
    string.format('%.0f', now), redis.call('ZSCORE', P .. 'sessions', ARGV[3]) and 1 or 0,
    redis.call('HGET', P .. 'session:' .. ARGV[3], 'worker'),
}
for at = 4, #ARGV do row(reply, ARGV[at]) end
return reply
