#!lua flags=no-writes,allow-oom
-- Which jobs ask a question, and in which queues.
-- Needs: start, heads, notes
-- In: nothing. Out: [id, queue, …].
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {}
for _, id in ipairs(redis.call('ZRANGE', P .. 'asking', 0, -1)) do
    local h = head_of(id)
    if h and asks(h, note_of(id)) then
        reply[#reply + 1] = id
        reply[#reply + 1] = h.queue
    end
end
return reply
