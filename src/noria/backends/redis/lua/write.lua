#!lua flags=allow-oom
-- Write what was decided about jobs, each if nothing has happened to it since it was looked at.
-- Needs: start, heads, gather, ties, places, refill, write
-- In: ARGV[3] the session that must be open, or empty; then for each job its id, the version of the head that was
--     looked at, the new head, prune_at and mark (see places.lua), what has happened (see model/flow.py; with blanks
--     between), 't' if its end is told, 'w' if workers are woken, and 'c' and a time if its group is closed until then,
--     the order to its worker to cancel it ('+' and why, or empty), how many parts are written, and for each of these
--     its name and '+' and the value, or '-' to drop it.
-- Out: a text with a letter for each: 'o' done, 'w' done, and it waits in line, 'c' changed meanwhile, 'k' another job has
--     its key, 's' the session is not open; then '+' if others wait for one that has ended.
-- Locks: the server, about 15 microseconds for each job.
-- Safe to repeat: yes; the version is another then.
local alive = ARGV[3] == '' or redis.call('ZSCORE', P .. 'sessions', ARGV[3])

local answers, ids, at = {}, {}, 4
while at <= #ARGV do
    if alive then
        ids[#ids + 1] = ARGV[at]
        answers[#answers + 1], at = write(at)
    else
        answers[#answers + 1], at = 's', at + 9 + 2 * tonumber(ARGV[at + 8])
    end
end
conclude()
for i, id in ipairs(ids) do
    if answers[i] == 'o' and head_of(id).state == WAITING then answers[i] = 'w' end
end
return table.concat(answers) .. awaited
