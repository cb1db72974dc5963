#!lua flags=allow-oom
-- Close a group, or open it.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] family and key, with a tab between; ARGV[4] 1 to close it; ARGV[5] until when, or empty; ARGV[6] why and
--     by whom, as JSON.
-- Out: how it stands now, packed, or nothing.
-- Locks: the server; the work is bounded by the jobs of the group that are eligible.
-- Safe to repeat: yes.
local group = ARGV[3]
if ARGV[4] == '1' then
    deed_of(group).close, deed_of(group).words = tonumber(ARGV[5]) or NEVER, ARGV[6]
else
    deed_of(group).open = true
end
conclude()
return redis.call('HGET', P .. 'stands', group)
