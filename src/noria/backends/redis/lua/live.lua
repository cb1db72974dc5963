#!lua flags=no-writes,allow-oom
-- Ids of jobs that have not ended, in no order; asked only while these are few.
-- Needs: start
-- In: ARGV[3] their states, as one text of numbers with a blank behind each; ARGV[4] how many at most.
-- Out: [id, …], or nothing if there are more.
-- Locks: nothing.
-- Safe to repeat: yes.
local most, ids, counts = tonumber(ARGV[4]), {}, redis.call('HGETALL', P .. 'counts')

local function wanted(state)
    return (' ' .. ARGV[3]):find(' ' .. state .. ' ', 1, true)
end

local function add(key)
    for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do ids[#ids + 1] = id end
end

local n, in_line = 0, 0
for i = 1, #counts, 2 do
    local state = counts[i]:match('^%d+')
    -- Jobs that wait for their time share a set.
    if state and (wanted(state) or (state == '1' and wanted('6')) or (state == '6' and wanted('1'))) then
        n = n + tonumber(counts[i + 1])
    end
    if state == '4' and wanted(state) then in_line = in_line + tonumber(counts[i + 1]) end
end
-- Groups with nobody in line have to be looked through as well.
if n > most or (in_line > 0 and redis.call('ZCARD', P .. 'groups') > most) then return false end
local due = {}
for i = 1, #counts, 2 do
    local state, queue = counts[i]:match('^(%d+) (.*)$')
    if state == '2' and wanted(state) then
        for lane = 0, 2 do
            add(P .. 'q' .. lane .. ':' .. queue)
            add(P .. 'x' .. lane .. ':' .. queue)
            add(P .. 'z' .. lane .. ':' .. queue)
        end
        for _, line in ipairs(redis.call('SMEMBERS', P .. 'gates:' .. queue)) do
            local lane, gate = line:match('^(%d+)%z(.*)$')
            add(P .. 'b' .. lane .. ':' .. queue .. '\0' .. gate)
        end
    elseif (state == '1' or state == '6') and (wanted('1') or wanted('6')) and not due[queue] then
        due[queue] = true
        add(P .. 'due:' .. queue)
    end
end
if in_line > 0 then
    for _, group in ipairs(redis.call('ZRANGE', P .. 'groups', 0, -1)) do add(P .. 'waiting:' .. group) end
end
if wanted('7') then add(P .. 'parked') end
if wanted('4') then add(P .. 'following') end
if wanted('3') then
    for _, session in ipairs(redis.call('ZRANGE', P .. 'sessions', 0, -1)) do add(P .. 'held:' .. session) end
    for _, session in ipairs(redis.call('SMEMBERS', P .. 'owing')) do add(P .. 'held:' .. session) end
end
return ids
