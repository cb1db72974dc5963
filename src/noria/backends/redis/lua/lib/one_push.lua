-- One new job by itself that is free, may start now, and has no bounds: most pushes are that. It is stored here in a straight
-- line, since making the functions of the pieces below, and calling them, takes four times as long. What else there is goes
-- on to them: nothing was done about it then. A test compares what both ways leave.
-- In: as push.lua.
-- Gives: nothing.
if #ARGV == 9 and ARGV[4] == '' then
    local id, head, card = ARGV[6], ARGV[7], ARGV[8]
    local due, delay, _, expires, deadline, _, priority = struct.unpack('<ddddddi4', head, DUE_AT)
    local is_plain = due == NEVER and delay == 0 and expires == NEVER and deadline == NEVER
    -- No key, no relatives; and of its texts the last three are empty: key, correlation and tie.
    is_plain = is_plain and head:sub(KEYED_AT, KEYED_AT + 2) == '\0\0\0' and head:sub(-4) == '\0\0\0\0'
    if is_plain and redis.call('EXISTS', P .. 'limits') == 0 and not redis.call('HGET', P .. 'head', id) then
        local lane, _, queue, task = head:byte(2), struct.unpack('sss', head, TEXTS_AT)
        local rank = now - priority * AGEING
        local times = struct.pack('<ddd', now, rank, now)
        redis.call('HSET', P .. 'body', id, ARGV[9])
        if card ~= '' then redis.call('HSET', P .. 'card', id, card) end
        redis.call('HSET', P .. 'head', id, string.char(QUEUED) .. head:sub(2, DUE_AT - 1) .. times .. head:sub(DUE_AT + 24))
        redis.call('ZADD', P .. 'ids', '0', id)
        redis.call('ZADD', P .. 'q' .. lane .. ':' .. queue, digits(rank), id)
        redis.call('HINCRBY', P .. 'counts', QUEUED .. ' ' .. queue, '1')
        local minute = digits(math.floor(now / 60000))
        redis.call('HINCRBY', P .. 'fresh', minute .. '\0arrived\0' .. queue .. '\0' .. task, '1')
        hint('queue:' .. queue, tostring(lane))
        return {}
    end
end
