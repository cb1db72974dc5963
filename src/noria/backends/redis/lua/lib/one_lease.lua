-- A lease that finds one free job that never was leased, or none, in a store that has nothing unusual: what an idle worker
-- finds, again and again. It is taken here in a straight line; see one_push.lua. What else there is goes on below.
-- In: as lease.lua.
-- Gives: nothing.
local is_usual = #ARGV <= 60 and tonumber(ARGV[4]) > 0
if is_usual then
    local keys = {P .. 'pauses', P .. 'limits', P .. 'lapsing', P .. 'card', P .. 'waking'}
    for at = 11, #ARGV, 5 do
        local queue, lane, n = ARGV[at], ARGV[at + 1], #keys
        keys[n + 1], keys[n + 2], keys[n + 3] = P .. 'due:' .. queue, P .. 'parked:' .. queue, P .. 'gates:' .. queue
        keys[n + 4], keys[n + 5] = P .. 'x' .. lane .. ':' .. queue, P .. 'z' .. lane .. ':' .. queue
    end
    is_usual = redis.call('EXISTS', unpack(keys)) == 0
end
if is_usual then
    local session, id, line = ARGV[3], nil, nil
    local last = ARGV[4] == '1' and '0' or '1'
    for at = 11, #ARGV, 5 do
        local key = P .. 'q' .. ARGV[at + 1] .. ':' .. ARGV[at]
        local first = redis.call('ZRANGE', key, '0', last)
        if first[1] then
            is_usual = is_usual and not (id or first[2]) and ARGV[at + 2] + ARGV[at + 3] > 0
            id, line = first[1], key
        end
    end
    if is_usual and not id then return {'', 1, 0, 0} end
    local head = is_usual and redis.call('ZRANK', P .. 'sessions', session) and redis.call('HGET', P .. 'head', id)
    if head then
        local starts, version = struct.unpack('<I4I4', head, STARTS_AT)
        local _, queue, _, rest = struct.unpack('sss', head, TEXTS_AT)
        -- A key may belong to it until its first lease.
        if starts == 0 and head:byte(KEYED_AT) ~= 2 then
            head = string.char(RUNNING) .. head:sub(2, KEYED_AT) .. '\0' .. head:sub(KEYED_AT + 2, STARTS_AT - 1)
                .. struct.pack('<I4I4d', 1, version + 1, now) .. head:sub(STARTS_AT + 16, TEXTS_AT - 1)
                .. session .. head:sub(TEXTS_AT)
            local body = redis.call('HGET', P .. 'body', id) or ''
            redis.call('ZREM', line, id)
            redis.call('HSET', P .. 'head', id, head)
            redis.call('ZADD', P .. 'held:' .. session, '0', id)
            redis.call('HINCRBY', P .. 'counts', QUEUED .. ' ' .. queue, '-1')
            redis.call('HINCRBY', P .. 'counts', RUNNING .. ' ' .. queue, '1')
            return {'', tonumber(last), 0, 0, id, head, false, body, false, false}
        end
    end
end
