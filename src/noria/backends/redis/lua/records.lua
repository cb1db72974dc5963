#!lua flags=no-writes,allow-oom
-- Read jobs.
-- Needs: start, heads
-- In: ARGV[3] 1 if with bodies; ARGV[4] with results; ARGV[5] with logs; ARGV[6] bodies and results of more bytes are left
--     out; then the ids.
-- Out: for each job, flat: head or null, worker, failure, card, body, result, log, with logs, or if its cancel was asked
--     for, its last change with its past; the ids of jobs that stand for its follow-ups; those of jobs that it waits for; its
--     notes; a part that is not there is null. A
--     result stands behind its codec and a NUL; one that is left out, or was not asked for, is its codec alone.
-- Locks: nothing.
-- Safe to repeat: yes.
local largest, reply, workers = tonumber(ARGV[6]), {}, {}
local any_notes = redis.call('EXISTS', P .. 'notes') == 1

local function worker_of(session)
    if workers[session] == nil then workers[session] = redis.call('HGET', P .. 'session:' .. session, 'worker') end
    return workers[session]
end

local function body_of(id)
    if ARGV[3] == '0' or redis.call('HSTRLEN', P .. 'body', id) > largest then return false end
    return redis.call('HGET', P .. 'body', id)
end

local function result_of(id)
    local result = redis.call('HGET', P .. 'result', id)
    local codec = result and result:match('^[^%z]*')
    if result and (ARGV[4] == '0' or #result - #codec - 1 > largest) then return codec end
    return result
end

for at = 7, #ARGV do
    local id, n = ARGV[at], #reply
    local packed = redis.call('HGET', P .. 'head', id)
    local h = packed and unpack_head(packed)
    if h and h.state < ERASED then
        reply[n + 1] = packed
        reply[n + 2] = h.session ~= '' and worker_of(h.session)
        reply[n + 3] = redis.call('HGET', P .. 'why', id)
        reply[n + 4] = redis.call('HGET', P .. 'card', id)
        reply[n + 5] = body_of(id)
        reply[n + 6] = result_of(id)
        reply[n + 7] = ARGV[5] == '1' and redis.call('HGET', P .. 'log', id)
        reply[n + 8] = (h.cancelling == 1 or ARGV[5] == '1') and redis.call('HGET', P .. 'change', id)
        reply[n + 9] = bit.band(h.kin, 2) == 2 and redis.call('HGET', P .. 'linked', id)
        reply[n + 10] = h.state == WAITING and table.concat(redis.call('SMEMBERS', P .. 'awaits:' .. id))
        reply[n + 11] = any_notes and redis.call('HGET', P .. 'notes', id)
    else
        for i = 1, 11 do reply[n + i] = false end
    end
end
return reply
