#!lua flags=allow-oom
-- Begin a session.
-- Needs: start
-- In: ARGV[3] session; ARGV[4] worker; ARGV[5] its card as JSON; ARGV[6] ttl; then its tasks. Out: OK.
-- Locks: nothing else.
-- Safe to repeat: no, the number is taken then; numbers are random, and each call draws a new one.
local session, deadline = ARGV[3], now + tonumber(ARGV[6])
redis.call(
    'HSET', P .. 'session:' .. session, 'worker', ARGV[4], 'card', ARGV[5], 'ttl', ARGV[6], 'opened', now, 'beat', 0,
    'seen', now, 'vitals', '{}'
)
for at = 7, #ARGV do redis.call('SADD', P .. 'tasks:' .. session, ARGV[at]) end
redis.call('ZADD', P .. 'sessions', deadline, session)
return redis.status_reply('OK')
