#!lua flags=allow-oom
-- Let time move what it must, choose jobs for a session, and hand them to it: one step.
-- Needs: start, one_lease, heads, gather, ties, places, refill, passage, tokens, wants, bound
-- In: ARGV[3] session; ARGV[4] how many at most; ARGV[5] how many bytes of bodies, unless the first has more; ARGV[6] to
--     ARGV[8] the failures of jobs that expire, that miss their deadline and that are too old, as JSON; ARGV[9] for how long
--     these are kept; ARGV[10] how many rows time moves at most; then for each want its queue, lane, now, ahead, and 1 if it takes a suspect.
-- Out: [when the next job of these queues is due or empty, 1 if nothing is left, 1 if suspects may be, 1 if tied jobs may be
--     that a free slot could have, then for each job its id, head, card or null, body, and of one that was leased before its
--     checkpoint and its note, or null].
-- Locks: the server; the work is bounded by the limit and by ARGV[10].
-- Safe to repeat: yes; what an unheard call has leased stays leased until it is recalled, or its session ends.
local PORTION = 50

-- Whether there is any of what most stores have nothing of: then each of it is looked for. One command says so of all.
local function is_unusual()
    local keys = {P .. 'pauses', P .. 'limits', P .. 'lapsing', P .. 'card', P .. 'waking'}
    for _, want in ipairs(wants) do
        local n = #keys
        keys[n + 1], keys[n + 2] = P .. 'due:' .. want.queue, P .. 'parked:' .. want.queue
        keys[n + 3], keys[n + 4] = P .. ready_line('x', want.lane, want.queue), P .. ready_line('z', want.lane, want.queue)
        keys[n + 5] = P .. 'gates:' .. want.queue
    end
    return #keys > WIDE or redis.call('EXISTS', unpack(keys)) > 0
end

local function is_paused(queue)
    local pause = redis.call('HGET', P .. 'pauses', queue)
    return pause and select(2, struct.unpack('<dd', pause)) > now
end

-- See how many more jobs of a queue may run; none of those is taken ahead of its time.
local function measure(queue)
    local bounds = limits_of(queue)
    if bounds and bounds.concurrency < NEVER then
        rooms[queue] = math.max(0, bounds.concurrency - number_of(queue, RUNNING))
    end
end

local function shorten(line, n)
    for i = #line, n + 1, -1 do line[i] = nil end
end

-- What stands in the line of a want: parked jobs and ready jobs, each in order of rank, and the first suspect.
local function look(want)
    want.parked, want.ready, want.suspects, want.bound, want.resting = {}, {}, {}, {}, true
    if is_paused(want.queue) or is_held(limits_of(want.queue), number_of) then return end
    measure(want.queue)
    local room = rooms[want.queue]
    if room == 0 then return end
    want.resting, want.bound = false, choosing().bound_of(want)
    want.ready = first_of(ready_line('q', want.lane, want.queue), limit)
    want.suspects = first_of(ready_line('x', want.lane, want.queue), 1)
    if redis.call('EXISTS', P .. 'parked:' .. want.queue) == 1 then
        want.parked = first_parked('p', want, limit)
        for _, each in ipairs(first_parked('y', want, 1)) do want.suspects[#want.suspects + 1] = each end
        table.sort(want.suspects, before)
    end
    if room then
        shorten(want.ready, room)
        shorten(want.parked, room)
    end
end

-- The place of the suspect among the ready jobs, if it is old enough to start now.
local function place_of_suspect(want)
    local suspect = want.suspects[1]
    if not (want.suspect and suspect) then return nil end
    local place = 1
    while want.ready[place] and before(want.ready[place], suspect) do place = place + 1 end
    return #want.parked + place - 1 < want.now and place or nil
end

-- The ids of a want, in order. Of ready jobs alone no rank is asked: the server would write each as a fraction.
local function line_of(want, unusual)
    if not unusual then
        return redis.call('ZRANGE', P .. ready_line('q', want.lane, want.queue), '0', digits(limit - 1))
    end
    local line = {}
    for _, each in ipairs(want.parked) do line[#line + 1] = each[2] end
    for _, each in ipairs(want.ready) do line[#line + 1] = each[2] end
    return line
end

-- The ids to lease. Each want is filled, parked jobs first; what a queue could not fill goes to the other wants of its
-- lane. Among all of them is at most one suspect, as one of the jobs that are to start now.
local function choose(unusual)
    local chosen, spare, spare_now, may_suspect = {}, {}, {}, true
    for _, want in ipairs(wants) do
        local place = unusual and may_suspect and place_of_suspect(want)
        if place then
            table.insert(want.ready, place, want.suspects[1])
            may_suspect = false
        end
        local line = line_of(want, unusual)
        local size = math.max(0, math.min(want.now + want.ahead, limit - #chosen))
        local room = rooms[want.queue]
        local taken = math.min(size, #line, room and math.min(want.now, room) or size)
        for i = 1, taken do chosen[#chosen + 1] = line[i] end
        if room then rooms[want.queue] = room - taken end
        spare[want.lane] = (spare[want.lane] or 0) + size - taken
        spare_now[want.lane] = (spare_now[want.lane] or 0) + math.max(0, want.now - taken)
        want.line, want.taken = line, taken
    end
    for _, want in ipairs(wants) do
        local room = rooms[want.queue]
        local more = math.min(spare[want.lane], limit - #chosen, #want.line - want.taken)
        if room then more = math.min(more, spare_now[want.lane], room) end
        more = math.max(0, more)
        for i = want.taken + 1, want.taken + more do chosen[#chosen + 1] = want.line[i] end
        if room then rooms[want.queue] = room - more end
        spare[want.lane] = spare[want.lane] - more
        spare_now[want.lane] = math.max(0, spare_now[want.lane] - more)
    end
    return chosen
end

-- A part of a portion of the chosen jobs. Bodies may be large: no more of them are read at once than that.
local function portion_of(part, chosen, at)
    return redis.call('HMGET', P .. part, unpack(chosen, at, math.min(at + PORTION - 1, #chosen)))
end

-- A line names a job that has no head: somebody has deleted it behind our back. It can never start, so it leaves the lines.
local function forget(id)
    for _, want in ipairs(wants) do
        local lines_of_want = {ready_line('q', want.lane, want.queue), ready_line('x', want.lane, want.queue)}
        lines_of_want[3] = ready_line('z', want.lane, want.queue)
        for _, member in ipairs(redis.call('SMEMBERS', P .. 'gates:' .. want.queue)) do
            local lane, gate = member:match('^(%d+)%z(.*)$')
            lines_of_want[#lines_of_want + 1] = 'b' .. lane .. ':' .. want.queue .. '\0' .. gate
        end
        for _, line in ipairs(lines_of_want) do
            local left = redis.call('ZREM', P .. line, id)
            if left == 1 then count(want.queue, QUEUED, -1) end
        end
        local parked = P .. 'parked:' .. want.queue
        for _, field in ipairs(redis.call('HKEYS', parked)) do
            local kind, task = field:match('^(%a%d+)%z(.*)$')
            if kind and redis.call('ZREM', P .. kind .. ':' .. want.queue .. '\0' .. task, id) == 1 then
                if redis.call('HINCRBY', parked, field, -1) == 0 then redis.call('HDEL', parked, field) end
                count(want.queue, PARKED, -1)
            end
        end
    end
    redis.call('ZREM', P .. 'ids', id)
    redis.log(redis.LOG_WARNING, 'noria: job ' .. hex(id) .. ' was queued and its head is gone; it is dropped')
end

local function take(chosen, unusual, reply, so_far)
    local taken, seen, bodies, cards = 0, {}, nil, nil
    gathers = #chosen > 1
    read_heads(chosen)
    for i, id in ipairs(chosen) do
        local place = (i - 1) % PORTION + 1
        if place == 1 then
            bodies = portion_of('body', chosen, i)
            cards = unusual and portion_of('card', chosen, i) or {}
        end
        local h = head_of(id)
        -- A worker might name a line twice; and what a portion of the expiry has left stays for the next one.
        if not h then
            forget(id)
        elseif not seen[id] and lapse_of(h) > now and not too_old(id, h) then
            -- Without its body no worker can read it: it becomes a dead letter there.
            local body = bodies[place] or ''
            bytes = bytes - #body
            if bytes < 0 and taken + so_far > 0 then break end
            if h.tie ~= '' then tokens_of().start(tied(h).gate) end
            lift(id, h)
            h.state, h.session, h.starts, h.taken = RUNNING, session, h.starts + 1, 0
            h.began, h.version = now, h.version + 1
            local packed, n = pack_head(h), #reply
            put(id, h, nil, nil, packed)
            taken, seen[id] = taken + 1, true
            reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, packed, cards[place] or false, body
            -- What earlier starts have left.
            reply[n + 5] = h.starts > 1 and redis.call('HGET', P .. 'checkpoints', id)
            reply[n + 6] = h.starts > 1 and redis.call('HGET', P .. 'notes', id)
        end
    end
    return taken
end

-- When the next job of a queue is due, from here on.
local function next_due_of(queue)
    local due = redis.call('ZRANGE', P .. 'due:' .. queue, '0', '0', 'WITHSCORES')
    return tonumber(due[2]) or NEVER
end

-- Take jobs of which some are tied; says how many, and whether more may be left.
local function take_bound(reply)
    for _, want in ipairs(wants) do choosing().line_up(want) end
    local chosen = choosing().first(limit)
    local taken = take(chosen, true, reply, 0)
    local got, admitted, cut = taken, refill(), taken < #chosen
    -- In a group that is shared fairly those that were taken make room for the next ones.
    while got > 0 and admitted > 0 and taken < limit do
        flush()
        chosen = choosing().more(limit - taken)
        got = take(chosen, true, reply, taken)
        cut = cut or got < #chosen
        flush()
        taken, admitted = taken + got, got > 0 and refill() or 0
    end
    tokens_of().write()
    local full = taken >= limit or admitted > 0
    reply[4] = (bound_left or full) and 1 or 0
    return taken, full or cut or anything_left
end

-- Let time move what it must; says how many jobs, and when the next one of these queues is due.
local function move(left, alive)
    local moving, next_due = 0, NEVER
    for _, want in ipairs(wants) do
        local due = next_due_of(want.queue)
        if due <= now and alive and moving < left then
            moving = moving + promote(want.queue, left - moving)
            flush()
            due = next_due_of(want.queue)
        end
        next_due = math.min(next_due, due)
    end
    if alive then
        moving = moving + expire(left, tonumber(ARGV[9]), ARGV[6], ARGV[7], ARGV[8]) + wake_groups(left)
        refill()
        flush()
    end
    return moving, next_due
end

-- Its rank: a score would be written as a fraction.
local alive = redis.call('ZRANK', P .. 'sessions', session)
local left = tonumber(ARGV[10])
local moving, next_due, unusual, is_bound = 0, NEVER, is_unusual(), false
if unusual then moving, next_due = move(left, alive) else limited = false end
local reply = {'', 1, 0, 0}
local standing, taken, more = 0, 0, false
if alive and limit > 0 then
    for _, want in ipairs(unusual and wants or {}) do
        look(want)
        is_bound = is_bound or #want.bound > 0
        if #want.suspects > 0 then reply[3] = 1 end
        for _, job in ipairs(want.bound) do
            if job.suspect then reply[3] = 1 end
        end
    end
    if is_bound then
        taken, more = take_bound(reply)
    else
        taken = take(choose(unusual), unusual, reply, 0)
        for _, want in ipairs(wants) do standing = standing + #want.line end
        -- A line as long as was asked for may go on.
        more = taken ~= standing or standing >= math.max(limit, 1)
    end
end
conclude()
if unusual then next_due = math.min(next_due, first_wake(), next(blocked) and tokens_of().at() or NEVER) end
reply[1] = next_due < NEVER and string.format('%.0f', math.max(0, next_due - now)) or ''
-- A suspect may hide others.
reply[2] = (not more and moving < left and reply[3] == 0) and 1 or 0
return reply
