-- What a lease asks for, as lease.lua is given it, and the lines in which jobs wait for that.
-- Gives: session, limit, bytes, wants, rooms, before, first_of, first_parked.
local session, limit, bytes = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local wants = {}
for at = 11, #ARGV, 5 do
    wants[#wants + 1] = {
        queue = ARGV[at], lane = tonumber(ARGV[at + 1]), now = tonumber(ARGV[at + 2]), ahead = tonumber(ARGV[at + 3]),
        suspect = ARGV[at + 4] == '1',
    }
end

-- Of queues of which only so many jobs may run, how many more.
local rooms = {}

-- Byte by byte: the comparison of Lua follows the locale of the server.
local function before(one, other)
    if one[1] ~= other[1] then return one[1] < other[1] end
    for i = 1, 16 do
        local a, b = one[2]:byte(i), other[2]:byte(i)
        if a ~= b then return a < b end
    end
    return false
end

-- The first of a line, each as {rank, id}.
local function first_of(line, n)
    local found, flat = {}, redis.call('ZRANGE', P .. line, '0', digits(n - 1), 'WITHSCORES')
    for i = 1, #flat, 2 do found[#found + 1] = {tonumber(flat[i + 1]), flat[i]} end
    return found
end

-- The first parked jobs whose tasks this session knows.
local function first_parked(kind, want, n)
    local found, begins = {}, kind .. want.lane .. '\0'
    for _, field in ipairs(redis.call('HKEYS', P .. 'parked:' .. want.queue)) do
        local task = field:sub(#begins + 1)
        if field:sub(1, #begins) == begins and redis.call('SISMEMBER', P .. 'tasks:' .. session, task) == 1 then
            for _, each in ipairs(first_of(parked_line(kind, want.lane, want.queue, task), n)) do
                found[#found + 1] = each
            end
        end
    end
    table.sort(found, before)
    for i = #found, n + 1, -1 do found[i] = nil end
    return found
end
