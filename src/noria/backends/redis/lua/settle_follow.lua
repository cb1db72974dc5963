#!lua
-- Record starts that succeeded, each with the follow-ups that it asked for, in one step.
-- Needs: start, heads, gather, ties, places, refill, prune, succeed, enroll, declare
-- In: ARGV[3] to ARGV[6] as in settle.lua; ARGV[7] milliseconds within which a job that becomes due still wakes
--     workers; ARGV[8] rules of families and resources of the follow-ups, as declare.lua takes them, or empty; then for
--     each start what settle.lua takes, how many follow-ups it has, and these as in push.lua, the first with a head.
-- Out: a text with a letter for each start, as settle.lua.
-- Locks: the server, about 10 microseconds for each end, and 5 for each follow-up.
-- Safe to repeat: yes; only a start that this session holds is changed, and nothing is stored for any other.
-- A full server refuses it as a whole, before anything was done.
local verdicts, ids, at = {}, {}, 9
while at <= #ARGV do
    ids[#ids + 1] = ARGV[at]
    local behind = at + 6 + 4 * tonumber(ARGV[at + 5])
    for job = at + 6, behind - 1, 4 do ids[#ids + 1] = ARGV[job] end
    at = behind
end
read_heads(ids)

-- Note which jobs stand for follow-ups of this one, as places and ids.
local function link(id, taken)
    local h = head_of(id)
    if h.state ~= SUCCEEDED then return end
    local linked = {}
    for i = 2, #taken, 2 do
        if #taken[i] == 16 then linked[#linked + 1] = taken[i] end
    end
    h.kin = h.kin + 2
    heads[id] = pack_head(h)
    store('head', id, heads[id])
    store('linked', id, table.concat(linked))
end

local soon = now + tonumber(ARGV[7])
at = 9
declare(ARGV[8])
while at <= #ARGV do
    local first, behind = at + 6, at + 6 + 4 * tonumber(ARGV[at + 5])
    local verdict = succeed(at)
    verdicts[#verdicts + 1] = verdict
    if verdict == 'o' then
        -- The key that it has given up may be taken over.
        local taken = enroll(first, behind - 1, soon, false)
        if #taken > 0 then link(ARGV[at], taken) end
    end
    at = behind
end
prune_within(cap, 2 * #verdicts)
conclude()
return table.concat(verdicts) .. awaited
