#!lua flags=allow-oom
-- Say how a worker is to be, and have it ask at once.
-- Needs: start
-- In: ARGV[3] session; ARGV[4] 'quiet', 'stop', or empty for as it likes. Out: 1, or 0 if it has ended or never was.
-- Locks: nothing else.
-- Safe to repeat: yes.
if not redis.call('ZSCORE', P .. 'sessions', ARGV[3]) then return 0 end
local key = P .. 'session:' .. ARGV[3]
if ARGV[4] == '' then redis.call('HDEL', key, 'command') else redis.call('HSET', key, 'command', ARGV[4]) end
hint('session:' .. ARGV[3], '')
return 1
