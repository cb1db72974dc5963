#!lua flags=no-writes,allow-oom
-- What earlier starts have left for the next ones of their jobs.
-- Needs: start, notes
-- In: the ids. Out: for each, flat: checkpoint or null, question or null.
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {}
for at = 3, #ARGV do
    local n = note_of(ARGV[at])
    reply[2 * at - 5] = redis.call('HGET', P .. 'checkpoints', ARGV[at])
    reply[2 * at - 4] = n and n.question or false
end
return reply
