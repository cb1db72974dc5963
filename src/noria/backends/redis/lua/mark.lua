#!lua flags=allow-oom
-- Write down what starts have marked, each in one step, with the documents that go along.
-- Needs: start, heads, gather, ties, places, refill, board, notes
-- In: ARGV[3] session; ARGV[4] milliseconds after which it is seen whether a record is still there; ARGV[5] how many items
--     are kept; then for each mark its id, starts, progress or empty, note, '+' and the checkpoint or empty, '+' and the
--     question or '-' to go on or empty, how many items its start had sent before, how many items come, these, how many
--     documents come, and these as board_write.lua takes them, without versions.
-- Out: a text with a letter for each: 'o' done, 'a' its start has ended, 's' stale.
-- Locks: the server, about 20 microseconds for each mark.
-- Safe to repeat: yes; items are told from those that were there by how many their start had sent.
local session, look_at, most = ARGV[3], now + tonumber(ARGV[4]), tonumber(ARGV[5])
local alive = redis.call('ZSCORE', P .. 'sessions', session)

local function verdict_of(h, starts)
    if not h or h.session ~= session or h.starts ~= starts or h.taken == 1 then return 's' end
    if h.state ~= RUNNING then return 'a' end
    return alive and 'o' or 's'
end

local function append(id, n, at, first, count)
    local key = P .. 'items:' .. id
    for i = math.max(0, n.said - first), count - 1 do
        redis.call('RPUSH', key, struct.pack('<dI4', now, n.starts) .. ARGV[at + i])
        n.said, n.emitted = n.said + 1, n.emitted + 1
    end
    redis.call('LTRIM', key, -most, -1)
end

local function write_down(id, h, at)
    local n = fresh_note(note_of(id), session, h.starts)
    local progress, text, checkpoint, question = unpack(ARGV, at + 2, at + 5)
    if progress ~= '' then n.progress, n.text, n.noted = tonumber(progress), text, now end
    if checkpoint ~= '' then redis.call('HSET', P .. 'checkpoints', id, checkpoint:sub(2)) end
    if question ~= '' then n.question = question:sub(2) end
    local first, count = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
    if count > 0 then append(id, n, at + 8, first, count) end
    write_note(id, n, look_at)
    write_docs(at + 9 + count, tonumber(ARGV[at + 8 + count]))
    -- Whoever waits for the job looks again.
    tell_end(id, h)
end

local verdicts, at = {}, 6
while at <= #ARGV do
    local id, h = ARGV[at], head_of(ARGV[at])
    local verdict = verdict_of(h, tonumber(ARGV[at + 1]))
    verdicts[#verdicts + 1] = verdict
    if verdict == 'o' then write_down(id, h, at) end
    at = at + 8 + tonumber(ARGV[at + 7])
    at = at + 1 + 5 * tonumber(ARGV[at])
end
conclude()
return table.concat(verdicts)
