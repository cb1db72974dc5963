#!lua flags=no-writes,allow-oom
-- What jobs that may change those that hold their keys have to know.
-- Needs: start, heads, gather, ties, places, rows
-- In: ARGV[3] how many jobs, then their ids; how many other jobs they wait for, then the ids of these; then the fields of
--     their keys: the task, NUL, and the key.
-- Out: [now, then for each job that they wait for 1 if it is there, else 0; then for each id a text: empty if it is not stored, the trace of one that was added to another job, else '-';
--     then for each key the job that holds it as rows.lua says, and its body; five empty texts and one if none does].
-- Locks: nothing; claims.lua sees by the versions whether the answer still holds.
-- Safe to repeat: yes.
local reply = {string.format('%.0f', now)}
local behind = 4 + tonumber(ARGV[3])
local first = behind + 1 + tonumber(ARGV[behind])
for at = behind + 1, first - 1 do reply[#reply + 1] = head_of(ARGV[at]) and 1 or 0 end
for at = 4, behind - 1 do
    local h = head_of(ARGV[at])
    local trace = h and h.state == ERASED and redis.call('HGET', P .. 'body', ARGV[at])
    reply[#reply + 1] = trace or h and '-' or ''
end
for at = first, #ARGV do
    local task, unique = ARGV[at]:match('^([^%z]*)%z(.*)$')
    local holder = holder_of_key({task = task, unique = unique})
    if holder then
        row(reply, holder)
        reply[#reply + 1] = redis.call('HGET', P .. 'body', holder)
    else
        for _ = 1, 6 do reply[#reply + 1] = '' end
    end
end
return reply
