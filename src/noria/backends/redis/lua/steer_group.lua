#!lua flags=allow-oom
-- Close a group, or open it; or go on where a close has left jobs that could run.
-- Needs: start, heads, gather, ties, places, refill
-- In: ARGV[3] family and key, with a tab between; ARGV[4] 1 to close it, 0 to open it, 2 to go on; ARGV[5] until when, or empty; ARGV[6] why and
--     by whom, as JSON.
-- Out: [how it stands now, packed, or nothing; 1 if jobs are left].
-- Locks: the server, about 15 microseconds for each of at most 1,000 jobs that were eligible.
-- Safe to repeat: yes.
local group = ARGV[3]
if ARGV[4] == '1' then
    deed_of(group).close, deed_of(group).words = tonumber(ARGV[5]) or NEVER, ARGV[6]
elseif ARGV[4] == '0' then
    deed_of(group).open = true
else
    deed_of(group).look = true
end
conclude()
return {redis.call('HGET', P .. 'stands', group), redis.call('SISMEMBER', P .. 'closing', group)}
