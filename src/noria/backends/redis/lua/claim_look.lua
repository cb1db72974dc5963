#!lua flags=no-writes,allow-oom
-- What jobs that may change those that hold their keys have to know.
-- Needs: start, heads, gather, ties, places, rows
-- In: ARGV[3] how many jobs, then their ids; then the fields of their keys: the task, NUL, and the key.
-- Out: [now, then for each id a text: empty if it is not stored, the trace of one that was added to another job, else '-';
--     then for each key the job that holds it as rows.lua says, and its body; five empty texts and one if none does].
-- Locks: nothing; claims.lua sees by the versions whether the answer still holds.
-- Safe to repeat: yes.
local reply = {string.format('%.0f', now)}
local first = 4 + tonumber(ARGV[3])
for at = 4, first - 1 do
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
