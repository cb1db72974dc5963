-- Starts that succeeded, as settle.lua is given them from ARGV[3] on.
-- Gives: succeed, cap.
local session, cap, to_be_read = ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6])
-- Its rank: a score would be written as a fraction.
local alive = redis.call('ZRANK', P .. 'sessions', session)

-- What is told of a success, what of it if that fits into no hint, and whether the value goes along.
local function outline(id, codec, what, result)
    local short = '["' .. hex(id) .. '",' .. SUCCEEDED .. ',' .. cjson.encode(codec) .. ',null]'
    if what ~= 't' or #result > MAX_HINT then return short, short, what == '-' end
    local line = short:sub(1, -6) .. cjson.encode(result) .. ']'
    return line, short, #line <= MAX_HINT - 2
end

local function record(at, h)
    local id, codec, what, result = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    local line, short, is_told = nil, nil, true
    if #what > 1 then
        if h.tie ~= '' then close_group(id, h, what:sub(2)) end
        what = what:sub(1, 1)
    end
    if h.reply ~= '' then line, short, is_told = outline(id, codec, what, result) end
    lift(id, h)
    h.finished, h.cancelling, h.version = now, 0, h.version + 1
    if h.keep == 0 and is_told then
        h.state = ERASED
        strip(id)
        put(id, h, now + to_be_read)
    else
        -- Somebody may wait for a value that no hint can carry: it stays until they had time to read it.
        local keep_for = h.keep == 0 and to_be_read or h.keep < NEVER and h.keep or tonumber(ARGV[4])
        h.state = SUCCEEDED
        if what ~= '-' then store('result', id, codec .. '\0' .. result) end
        put(id, h, now + keep_for)
    end
    happened(h, 'succeeded')
    if line then tell(h.reply, line, short) end
end

-- Record the start at ARGV[at]; says with a letter how that went.
local function succeed(at)
    local h = head_of(ARGV[at])
    if not h or h.session ~= session or h.starts ~= tonumber(ARGV[at + 1]) or h.taken == 1 then return 's' end
    if h.state ~= RUNNING then return 'a' end
    if not alive then return 's' end
    record(at, h)
    return 'o'
end
