#!lua flags=no-writes,allow-oom
-- How many jobs stand before one in its line: ready ones of its queue and lane, or suspects if it is one.
-- Needs: start, heads, gather, places
-- In: ARGV[3] id.
-- Out: the number; nothing if the job is not queued.
-- Locks: nothing.
-- Safe to repeat: yes.
local id = ARGV[3]
local h = head_of(id)
if not h or h.state ~= QUEUED then return false end
return redis.call('ZRANK', P .. ready_line(line_kind(h), h.lane, h.queue), id)
