-- How every script starts: the namespace, whether it is still the one that was opened, and the one clock.
-- In: KEYS[1] the prefix of all keys, whose hash tag keeps them together; ARGV[1] the epoch of the namespace;
--     ARGV[2] the time in milliseconds, or empty for the server's own.
-- Gives: P, now, NEVER, digits, hint.
local P = KEYS[1]
if redis.call('GET', P .. 'epoch') ~= ARGV[1] then
    return redis.error_reply('NORIAEPOCH the namespace is not the one that was opened')
end
local NEVER = 1 / 0
local now = tonumber(ARGV[2])
if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A whole number as text, for a command: the server would write it with all the digits of a fraction, which takes longer
-- than what most commands do.
local function digits(n)
    return n % 1 == 0 and string.format('%d', n) or n
end

-- Say something to whoever listens. A hint may be lost: one that the access rules forbid fails no script that has written.
local function hint(channel, payload)
    redis.pcall('PUBLISH', P .. 'hint:' .. channel, payload)
end
