#!lua flags=allow-oom
-- Record starts that succeeded: state, result, freed unique key, hint, and what is kept no longer, in one step.
-- Needs: start, one_success, heads, gather, ties, places, refill, prune, succeed
-- In: ARGV[3] session; ARGV[4] for how long records are kept; ARGV[5] how many; ARGV[6] how long what is erased
--     at success is still known to who asks, or asks again; then for each its id, starts, codec, what the result is
--     ('-' none, 't' text, 'b' bytes; behind it until when its group is closed, if it is), and the result.
-- Out: a text with a letter for each: 'o' done, 'a' already, 's' stale; then '+' if others wait for one that is done.
-- Locks: the server, about 10 microseconds for each end.
-- Safe to repeat: yes; only a start that this session holds is changed.
local verdicts, ids = {}, {}
for at = 7, #ARGV, 5 do ids[#ids + 1] = ARGV[at] end
gathers = #ids > 1
read_heads(ids)
for at = 7, #ARGV, 5 do verdicts[#verdicts + 1] = is_done and 'o' or succeed(at) end
prune_within(cap, 2 * #verdicts)
conclude()
return table.concat(verdicts) .. awaited
