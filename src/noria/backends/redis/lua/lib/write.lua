-- Writing what was decided about jobs outside of a script, each if nothing has happened to it since it was looked at.
-- Gives: write.

-- Write the parts of a job that are given from ARGV[at] on; says where they end.
local function write_parts(id, at)
    local behind = at + 1 + 2 * tonumber(ARGV[at])
    for part = at + 1, behind - 1, 2 do
        local value = ARGV[part + 1]
        if value:sub(1, 1) == '+' then
            store(ARGV[part], id, value:sub(2))
        else
            unstore(ARGV[part], id)
        end
    end
    return behind
end

-- Why a job cannot be written, or nothing.
local function refuses(h, before, version)
    if not before or before.version ~= version then return 'c' end
    local wants_key = h.keyed == 1 or h.keyed == 2 and h.starts == 0
    if wants_key and h.state < SUCCEEDED and before.state >= SUCCEEDED and holder_of_key(h) then return 'k' end
end

-- Write the job at ARGV[at]; says how that went, and where the next one begins.
local function write(at)
    local id, before, h = ARGV[at], head_of(ARGV[at]), unpack_head(ARGV[at + 2])
    local why = refuses(h, before, tonumber(ARGV[at + 1]))
    if why then return why, at + 9 + 2 * tonumber(ARGV[at + 8]) end
    lift(id, before)
    h.was, h.version = before.state, before.version + 1
    -- Whoever decided did not know the limits of the queue; what keeps its place there, keeps it.
    if h.rank ~= before.rank or h.queue ~= before.queue then
        h.rank = rank_of(h)
        if h.tie ~= '' and before.state == WAITING then ties().turn_to(h, h.rank) end
    end
    if h.state == ERASED then strip(id) end
    if h.keyed ~= before.keyed then free_key(id, before) end
    local behind = write_parts(id, at + 8)
    put(id, h, tonumber(ARGV[at + 3]), ARGV[at + 4])
    for word in ARGV[at + 5]:gmatch('%S+') do happened(h, word) end
    if ARGV[at + 6]:find('t', 1, true) then tell_end(id, h) end
    if ARGV[at + 6]:find('w', 1, true) then has_work(h.queue) end
    if h.tie ~= '' then close_group(id, h, ARGV[at + 6]:match('c(%d+)')) end
    if ARGV[at + 7] ~= '' then
        redis.call('HSET', P .. 'cancels:' .. h.session, id, h.starts .. ' ' .. ARGV[at + 7]:sub(2))
        order(h.session)
    end
    return 'o', behind
end
