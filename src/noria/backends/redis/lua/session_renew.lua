#!lua flags=allow-oom
-- Move the deadline of a session, unless it has ended, and say what is asked of it.
-- Needs: start
-- In: ARGV[3] session; ARGV[4] its vitals as JSON.
-- Out: nothing if it has ended or never was; else [how it is to be or null, id, starts and why, …].
-- Locks: nothing else.
-- Safe to repeat: yes.
local key = P .. 'session:' .. ARGV[3]
if not redis.call('ZSCORE', P .. 'sessions', ARGV[3]) then return false end
redis.call('HINCRBY', key, 'beat', 1)
redis.call('HSET', key, 'seen', now, 'vitals', ARGV[4])
redis.call('ZADD', P .. 'sessions', now + tonumber(redis.call('HGET', key, 'ttl')), ARGV[3])
local reply = redis.call('HGETALL', P .. 'cancels:' .. ARGV[3])
table.insert(reply, 1, redis.call('HGET', key, 'command'))
return reply
