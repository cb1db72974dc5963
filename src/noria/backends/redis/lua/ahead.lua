#!lua flags=no-writes,allow-oom
-- How many jobs stand before one in its line: ready ones of its queue, lane and needs, suspects if it is one, or those that
-- wait in its group.
-- Needs: start, heads, gather, ties, places
-- In: ARGV[3] id.
-- Out: the number; nothing if the job is not queued, and does not wait in line.
-- Locks: nothing.
-- Safe to repeat: yes.
local id = ARGV[3]
local h = head_of(id)
if h and h.state == WAITING then return h.tie ~= '' and redis.call('ZRANK', P .. 'waiting:' .. tied(h).group, id) end
if not h or h.state ~= QUEUED then return false end
return redis.call('ZRANK', P .. ready_key(line_kind(h), h.lane, h.queue, h), id)
