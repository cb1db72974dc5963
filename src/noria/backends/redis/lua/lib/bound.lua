-- Which jobs a lease takes where some are tied: free and tied ones together, in order, each with its tokens or not at all.
-- Those that are tied start at once, or stay for whoever can start them: none is taken ahead of its time.
-- Gives: choosing, bound_left, anything_left.
local picked, spare, may_suspect = {}, {}, true
local anything_left, bound_left, chooser = false, false, nil
-- For groups whether they are closing; false if none is.
local closing
-- Tied suspects that a lease looks at: only one is taken.
local SUSPECTS = 10

-- What chooses, made once it is asked for: see `ties`.
local function choosing()
    if chooser then return chooser end

    -- Of jobs those whose groups are not just closing: they have not all been put back in line yet.
    local function open_ones(jobs)
        if closing == nil then closing = redis.call('EXISTS', P .. 'closing') == 1 and {} end
        if not closing then return jobs end
        local ids, found = {}, {}
        for i, job in ipairs(jobs) do ids[i] = job[2] end
        read_heads(ids)
        for _, job in ipairs(jobs) do
            local h = head_of(job[2])
            local group = h and tied(h).group or ''
            if closing[group] == nil then closing[group] = redis.call('SISMEMBER', P .. 'closing', group) == 1 end
            if not closing[group] then found[#found + 1] = job end
        end
        return found
    end

    -- The first tied jobs of a want that are ready, of all lines that can have their tokens. A line that nobody stands in is
    -- forgotten.
    local function bound_ready(want, n)
        local found, lines_of_queue = {}, P .. 'gates:' .. want.queue
        for _, member in ipairs(redis.call('SMEMBERS', lines_of_queue)) do
            local lane, gate = member:match('^(%d+)%z(.*)$')
            if tonumber(lane) == want.lane and not blocked[gate] then
                local jobs = first_of(ready_line('b', want.lane, want.queue) .. '\0' .. gate, n)
                for _, job in ipairs(open_ones(jobs)) do
                    job.gate = gate
                    found[#found + 1] = job
                end
                if #jobs == 0 then
                    redis.call('SREM', lines_of_queue, member)
                    lines[want.queue .. '\0' .. member] = nil
                end
            end
        end
        if redis.call('EXISTS', lines_of_queue) == 0 then redis.call('SREM', P .. 'gated', want.queue) end
        return found
    end

    -- Note of jobs of a line what they need, and how they stand there.
    local function note_gates(jobs, parked, suspect)
        local ids = {}
        for i, job in ipairs(jobs) do ids[i] = job[2] end
        read_heads(ids)
        for _, job in ipairs(jobs) do
            local h = head_of(job[2])
            job.gate, job.parked, job.suspect = h and tied(h).gate or '', parked, suspect
        end
        return jobs
    end

    -- The tied jobs of a want: ready, suspects, parked, and parked suspects.
    local function bound_of(want)
        local found = bound_ready(want, limit)
        local apart = {note_gates(open_ones(first_of(ready_line('z', want.lane, want.queue), SUSPECTS)), false, true)}
        if redis.call('EXISTS', P .. 'parked:' .. want.queue) == 1 then
            apart[2] = note_gates(first_parked('v', want, limit), true, false)
            apart[3] = note_gates(first_parked('w', want, SUSPECTS), true, true)
        end
        for _, jobs in ipairs(apart) do
            for _, job in ipairs(jobs) do found[#found + 1] = job end
        end
        return found
    end

    local function goes_before(one, other)
        if (one.parked or false) ~= (other.parked or false) then return one.parked end
        return before(one, other)
    end

    -- Put the jobs of a want in order, free and tied ones.
    local function line_up_bound(want)
        want.entries = want.bound
        for _, job in ipairs(want.parked) do
            job.parked = true
            want.entries[#want.entries + 1] = job
        end
        for _, job in ipairs(want.ready) do want.entries[#want.entries + 1] = job end
        for _, job in ipairs(want.suspects) do
            job.suspect = true
            want.entries[#want.entries + 1] = job
        end
        table.sort(want.entries, goes_before)
    end

    -- Take the slot and the tokens of a job, if it can have them.
    local function takes(entry, room, suspects)
        if picked[entry[2]] or (entry.suspect and not (suspects and may_suspect)) then return false end
        if (entry.suspect or entry.gate) and room.now <= 0 then return false end
        if entry.gate and not tokens_of().take(entry.gate) then return false end
        if room.now > 0 then room.now = room.now - 1 else room.ahead = room.ahead - 1 end
        if entry.suspect then may_suspect = false end
        picked[entry[2]] = true
        return true
    end

    -- Take what fits of a line; gives what is left of it.
    local function fill(line, room, suspects, chosen, most)
        local rest = {}
        for _, entry in ipairs(line) do
            local full = #chosen >= most or (room.now <= 0 and room.ahead <= 0)
            if not full and takes(entry, room, suspects) then
                chosen[#chosen + 1] = entry[2]
            else
                rest[#rest + 1] = entry
            end
        end
        return rest
    end

    -- The same for a want; of its queue only so many jobs may run, if it has such a limit, and none is taken ahead then.
    local function fill_want(want, line, room, suspects, chosen, most)
        local places = rooms[want.queue]
        if not places then return fill(line, room, suspects, chosen, most) end
        local part = {now = math.min(room.now, places), ahead = 0}
        local size = part.now
        local rest = fill(line, part, suspects, chosen, most)
        rooms[want.queue], room.now = places - (size - part.now), room.now - (size - part.now)
        return rest
    end

    -- Note what is left of a line.
    local function note_left(rest)
        for _, entry in ipairs(rest) do
            if not (entry.gate and blocked[entry.gate]) then
                anything_left = true
                bound_left = bound_left or (entry.gate and not entry.suspect)
            end
        end
    end

    -- The ids to lease: each want is filled, then what a queue could not fill goes to the other wants of its lane.
    local function choose_bound(most)
        local chosen = {}
        for _, want in ipairs(wants) do
            local room = {now = want.now, ahead = want.ahead}
            want.rest = fill_want(want, want.entries, room, want.suspect, chosen, most)
            local more = spare[want.lane] or {now = 0, ahead = 0}
            more.now, more.ahead = more.now + room.now, more.ahead + room.ahead
            spare[want.lane] = more
        end
        for _, want in ipairs(wants) do
            note_left(fill_want(want, want.rest, spare[want.lane], false, chosen, most))
        end
        return chosen
    end

    -- The ids to lease of those that got a place since others were taken, for the room that was left.
    local function choose_more(most)
        local chosen = {}
        bound_left = false
        for _, want in ipairs(wants) do
            if not want.resting then
                local line = bound_ready(want, most)
                table.sort(line, before)
                note_left(fill_want(want, line, spare[want.lane], false, chosen, most))
            end
        end
        return chosen
    end

    chooser = {bound_of = bound_of, line_up = line_up_bound, first = choose_bound, more = choose_more}
    return chooser
end
