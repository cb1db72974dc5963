-- What starts of jobs have written down: for each such job one packed string in the hash `notes`, about its last start that
-- has. The same layout stands in notes.py. The jobs are in `noted` by the time at which it is to be seen whether their
-- records are still there, and in `asking` while they name a question.
-- Gives: note_of, fresh_note, write_note, asks, drop_note.
local NOTE = '<ddI4I4I4I4sss'

local function note_of(id)
    local packed = redis.call('HGET', P .. 'notes', id)
    if not packed then return nil end
    local progress, noted, starts, version, emitted, said, session, text, question = struct.unpack(NOTE, packed)
    return {
        progress = progress, noted = noted, starts = starts, version = version, emitted = emitted, said = said,
        session = session, text = text, question = question,
    }
end

-- What a start finds: what another one has said of itself is forgotten.
local function fresh_note(before, session, starts)
    if before and before.session == session and before.starts == starts then return before end
    return {
        progress = -1, noted = 0, starts = starts, version = before and before.version or 0,
        emitted = before and before.emitted or 0, said = 0, session = session, text = '', question = '',
    }
end

local function write_note(id, n, look_at)
    redis.call('HSET', P .. 'notes', id, struct.pack(
        NOTE, n.progress, n.noted, n.starts, n.version + 1, n.emitted, n.said, n.session, n.text, n.question
    ))
    if n.version == 0 then redis.call('ZADD', P .. 'noted', look_at, id) end
    redis.call(n.question == '' and 'ZREM' or 'ZADD', P .. 'asking', unpack(n.question == '' and {id} or {0, id}))
end

-- Whether the start that runs is the one that asks.
local function asks(h, n)
    return n and n.question ~= '' and h.state == RUNNING and h.session == n.session and h.starts == n.starts
end

local function drop_note(id)
    redis.call('HDEL', P .. 'notes', id)
    redis.call('HDEL', P .. 'checkpoints', id)
    redis.call('DEL', P .. 'items:' .. id)
    redis.call('ZREM', P .. 'asking', id)
    redis.call('ZREM', P .. 'noted', id)
end
