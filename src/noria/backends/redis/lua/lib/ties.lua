-- Jobs that are tied: to a group, whose places are handed over from one job to the next, and to resources, of which they
-- hold tokens while they run. In a head that is a text: its turn, the names of its resources with blanks between, its family
-- and its key, with tabs between; a job that is free has an empty one.
-- Of a group there are the sets `waiting:GROUP` by turn, `placed:GROUP` with 1 for jobs that are eligible and 0 for others, and
-- in `stands` what it owes its rate and whether it is closed; those that have any of it stand in `groups`.
-- Gives: deeds, freed, rules, lines, tied, deed_of, rule_of, ready_key, ties.
local deeds, rules, lines, freed, hands = {}, {}, {}, false, nil
-- What is put before the turn of a job that must be the next of its group.
local FRONT = 1000000000000000

-- What a head is tied to, read out of its text.
local function tied(h)
    if not h.gate then
        local turn
        turn, h.gate, h.group = h.tie:match('^([^\t]*)\t([^\t]*)\t(.*)$')
        h.turn = tonumber(turn) or 0
        if h.group == '\t' then h.group = '' end
    end
    return h
end

-- What a script has done to a group: how many jobs were started, whether somebody may have come in line, and so on.
local function deed_of(group)
    local deed = deeds[group]
    if not deed then
        deed = {started = 0}
        deeds[group] = deed
    end
    return deed
end

-- The rule of a group's family; see model/groups.py.
local function rule_of(group)
    local family = group:match('^[^\t]+')
    if rules[family] == nil then
        local text = redis.call('HGET', P .. 'families', family)
        rules[family] = text and cjson.decode(text) or {fair = false}
    end
    return rules[family]
end

-- The set in which a job is found that is ready, or a suspect.
local function ready_key(kind, lane, queue, h)
    local line = kind .. lane .. ':' .. queue
    return kind == 'b' and line .. '\0' .. tied(h).gate or line
end

-- What moves tied jobs: made once it is asked for, since Lua takes a while for each function, and most scripts meet free jobs
-- alone. `turn_to`, `line_up`, `leave` and `arrive` are below.
local function ties()
    if hands then return hands end

    -- Give a job its turn in its group.
    local function turn_to(h, turn)
        tied(h)
        h.turn = turn
        h.tie = string.format('%.0f', turn) .. '\t' .. h.gate .. '\t' .. (h.group == '' and '\t' or h.group)
    end

    local function is_put_off(state)
        return state == SCHEDULED or state == RETRYING
    end

    -- Have a job of a group that could run by now wait in line instead, before its head is packed: it gets a place when all
    -- places are handed over. One that had a place in a group that keeps the order is the next one.
    local function line_up(id, h)
        tied(h)
        if h.group == '' then return end
        local was_in_line = h.was == WAITING and h.kin < 16
        if h.state == QUEUED and h.was ~= QUEUED and not h.heir then
            h.state = WAITING
            -- It waits for other jobs no more.
            if h.kin >= 16 then h.kin = h.kin - 16 end
        end
        if h.state ~= WAITING or was_in_line then return end
        local placed = h.was == QUEUED or h.was == RUNNING or h.was == PARKED
        if h.was and is_put_off(h.was) and rule_of(h.group).ordered then
            placed = redis.call('ZSCORE', P .. 'placed:' .. h.group, id)
        end
        if not placed then
            turn_to(h, h.rank)
        elseif rule_of(h.group).ordered then
            h.front = true
        end
    end

    local function leave_tied(id, h)
        tied(h)
        if h.state == RUNNING then
            for name in h.gate:gmatch('%S+') do
                leave_set('holding:' .. name, id)
                freed = true
            end
        elseif h.state == WAITING and h.kin < 16 then
            leave_set('waiting:' .. h.group, id)
        end
    end

    -- Whether a job that is to be tried again keeps its place, and holds up the others.
    local function keeps_place(h)
        local rule = rule_of(h.group)
        return rule.ordered and (not rule.aside or h.spent < rule.aside)
    end

    -- Note that there is a line of jobs with the same needs, so that leases look for it.
    local function note_line(h)
        local line = h.queue .. '\0' .. h.lane .. '\0' .. h.gate
        if lines[line] then return end
        lines[line] = true
        redis.call('SADD', P .. 'gates:' .. h.queue, h.lane .. '\0' .. h.gate)
        redis.call('SADD', P .. 'gated', h.queue)
    end

    -- A job gets, keeps or gives up its place.
    local function take_place(id, h)
        local state, was, set = h.state, h.was, 'placed:' .. h.group
        if state == QUEUED or state == RUNNING or state == PARKED or (was == RUNNING and is_put_off(state) and keeps_place(h)) then
            join_set(set, state == QUEUED and '1' or '0', id)
        elseif was and was < SUCCEEDED and was ~= WAITING and not (is_put_off(was) and is_put_off(state)) then
            leave_set(set, id)
            deed_of(h.group).look = true
        end
    end

    local function arrive_tied(id, h)
        tied(h)
        local state = h.state
        if state == RUNNING then
            for name in h.gate:gmatch('%S+') do join_set('holding:' .. name, '0', id) end
        elseif state == QUEUED and h.crashes < SUSPECT_AT then
            note_line(h)
        end
        if h.group == '' then return end
        if state == WAITING and h.kin >= 16 then return end
        if state == WAITING then
            join_set('waiting:' .. h.group, digits(h.front and h.turn - FRONT or h.turn), id)
            deed_of(h.group).look = true
        elseif state == RUNNING and h.was == QUEUED then
            deed_of(h.group).started = deed_of(h.group).started + 1
        end
        take_place(id, h)
    end

    hands = {turn_to = turn_to, line_up = line_up, leave = leave_tied, arrive = arrive_tied}
    return hands
end
