-- One start that succeeded, of a job that is free and has no key and no heirs: what a worker tells that has little to do. It
-- is recorded here in a straight line; see one_push.lua. What else there is goes on below, and so does the dropping of old
-- records where there are some.
-- In: as settle.lua.
-- Gives: is_done.
local is_done = false
local head = #ARGV == 11 and redis.call('HGET', P .. 'head', ARGV[7])
-- Of its numbers up to `kin` none says anything, and of its texts the last is empty, its tie.
if head and head:byte(1) == RUNNING and head:sub(3, KEYED_AT + 1) == '\0\0\0\0' and head:byte(KEYED_AT + 2) < 4
    and head:sub(-2) == '\0\0' and redis.call('EXISTS', P .. 'limits') == 0
then
    local id, codec, what, result = ARGV[7], ARGV[9], ARGV[10], ARGV[11]
    local starts, version = struct.unpack('<I4I4', head, STARTS_AT)
    local keep = struct.unpack('<d', head, KEEP_AT)
    local session, queue, task, reply = struct.unpack('ssss', head, TEXTS_AT)
    local is_ours = session == ARGV[3] and starts == tonumber(ARGV[8]) and redis.call('ZRANK', P .. 'sessions', session)
    local line = ''
    if reply ~= '' and what ~= 'b' and #result <= MAX_HINT then
        line = '["' .. string.format('%08x%08x%08x%08x', struct.unpack('>I4I4I4I4', id)) .. '",' .. SUCCEEDED .. ','
            .. cjson.encode(codec) .. ',' .. (what == 't' and cjson.encode(result) or 'null') .. ']'
    end
    if is_ours and keep > 0 and #what == 1 and (reply == '' or line ~= '') and #line <= MAX_HINT - 2 then
        head = string.char(SUCCEEDED) .. head:sub(2, KEYED_AT + 2) .. '\0' .. head:sub(STARTS_AT, STARTS_AT + 3)
            .. struct.pack('<I4', version + 1) .. head:sub(STARTS_AT + 8, STARTS_AT + 15) .. struct.pack('<d', now)
            .. head:sub(DUE_AT)
        redis.call('ZREM', P .. 'held:' .. session, id)
        redis.call('HSET', P .. 'head', id, head)
        if what ~= '-' then redis.call('HSET', P .. 'result', id, codec .. '\0' .. result) end
        redis.call('ZADD', P .. 'kept', digits(now + (keep < NEVER and keep or tonumber(ARGV[4]))), id)
        redis.call('HINCRBY', P .. 'counts', RUNNING .. ' ' .. queue, '-1')
        redis.call('HINCRBY', P .. 'counts', SUCCEEDED .. ' ' .. queue, '1')
        local minute = digits(math.floor(now / 60000))
        redis.call('HINCRBY', P .. 'fresh', minute .. '\0succeeded\0' .. queue .. '\0' .. task, '1')
        if line ~= '' then hint(reply, '[' .. line .. ']') end
        is_done = true
        local is_full = redis.call('ZCARD', P .. 'kept') > tonumber(ARGV[5])
        if not is_full and not redis.call('ZRANGEBYSCORE', P .. 'kept', '-inf', digits(now), 'LIMIT', '0', '1')[1] then
            return 'o'
        end
    end
end
