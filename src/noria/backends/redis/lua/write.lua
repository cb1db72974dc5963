#!lua flags=allow-oom
-- Write what was decided about jobs, each if nothing has happened to it since it was looked at.
-- Needs: start, heads, gather, places
-- In: ARGV[3] the session that must be open, or empty; then for each job its id, the version of the head that was looked
--     at, the new head, prune_at and mark (see places.lua), what has happened (see model/flow.py; with blanks between), 't'
--     if its end is told and 'w' if workers are woken, the order to its worker to cancel it ('+' and why, or empty), how
--     many parts are written, and for each of these its name and '+' and the value, or '-' to drop it.
-- Out: a text with a letter for each: 'o' done, 'c' changed meanwhile, 'k' another live job has its key, 's' the session is
--     not open.
-- Locks: the server, about 15 microseconds for each job.
-- Safe to repeat: yes; the version is another then.
local alive = ARGV[3] == '' or redis.call('ZSCORE', P .. 'sessions', ARGV[3])

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
    if not alive then return 's' end
    if not before or before.version ~= version then return 'c' end
    local wakes_up = h.keyed == 1 and h.state < SUCCEEDED and before.state >= SUCCEEDED
    if wakes_up and redis.call('HEXISTS', P .. 'keys', h.task .. '\0' .. h.unique) == 1 then return 'k' end
end

-- Write the job at ARGV[at]; says how that went, and where the next one begins.
local function write(at)
    local id, before, h = ARGV[at], head_of(ARGV[at]), unpack_head(ARGV[at + 2])
    local why = refuses(h, before, tonumber(ARGV[at + 1]))
    if why then return why, at + 9 + 2 * tonumber(ARGV[at + 8]) end
    lift(id, before)
    h.was, h.version = before.state, before.version + 1
    -- Whoever decided did not know the limits of the queue; what keeps its place there, keeps it.
    if h.rank ~= before.rank or h.queue ~= before.queue then h.rank = rank_of(h) end
    if h.state == ERASED then strip(id) end
    local behind = write_parts(id, at + 8)
    put(id, h, tonumber(ARGV[at + 3]), ARGV[at + 4])
    for word in ARGV[at + 5]:gmatch('%S+') do happened(h, word) end
    if ARGV[at + 6]:find('t', 1, true) then tell_end(id, h) end
    if ARGV[at + 6]:find('w', 1, true) then has_work(h.queue) end
    if ARGV[at + 7] ~= '' then
        redis.call('HSET', P .. 'cancels:' .. h.session, id, h.starts .. ' ' .. ARGV[at + 7]:sub(2))
        order(h.session)
    end
    return 'o', behind
end

local answers, at = {}, 4
while at <= #ARGV do
    answers[#answers + 1], at = write(at)
end
conclude()
return table.concat(answers)
