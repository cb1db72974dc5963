#!lua flags=allow-oom
-- Let time move jobs: those that are due, those that expire, and those of groups in which it has freed a place.
-- Needs: start, heads, gather, ties, places, refill, passage
-- In: ARGV[3] how many of each kind at most; ARGV[4] to ARGV[6] the failures of jobs that expire, that miss their
--     deadline and that are too old, as JSON; ARGV[7] for how long these are kept.
-- Out: [promoted, or come to a place, expired].
-- Locks: the server; at most 1,000 jobs of each kind.
-- Safe to repeat: yes.
local limit, promoted = tonumber(ARGV[3]), 0
for _, field in ipairs(redis.call('HKEYS', P .. 'counts')) do
    local state, queue = field:match('^(%d+) (.*)$')
    if promoted < limit and (state == '1' or state == '6') then promoted = promoted + promote(queue, limit - promoted) end
end
local expired = expire(limit, tonumber(ARGV[7]), ARGV[4], ARGV[5], ARGV[6])
wake_groups(limit)
if redis.call('EXISTS', P .. 'stirred') == 1 then stir_groups(limit) end
promoted = promoted + refill()
conclude()
return {promoted, expired}
