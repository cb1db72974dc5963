-- Heads of jobs: everything about a job that changes with its state, packed into one string of the hash `head`.
-- The same layout stands in heads.py. Times are milliseconds since the epoch; NEVER is where there is none.
-- Gives: the states, SUSPECT_AT, WIDE, KEYED_AT and so on, heads, unpack_head, pack_head, read_heads, head_of, begun, lapse_of.
local SCHEDULED, QUEUED, RUNNING, WAITING, ASKING, RETRYING, PARKED = 1, 2, 3, 4, 5, 6, 7
local SUCCEEDED, FAILED, CANCELLED, EXPIRED, ERASED = 10, 11, 12, 13, 20
-- limits.SUSPECT_AT; a test compares.
local SUSPECT_AT = 2
-- Where parts of a head begin, for those who read or write them alone; a test compares.
local KEYED_AT, STARTS_AT, DUE_AT, KEEP_AT, TEXTS_AT = 5, 9, 33, 73, 109
local LAYOUT = '<BBBBBBBBI4I4ddddddddi4I4I4I4I4I4I4sssssss'

local function unpack_head(packed)
    local state, lane, dead, cancelling, keyed, taken, kin, aged, starts, version, began, finished, due, rank, created, expires,
        deadline, keep, priority, attempts, crash_budget, spent, crashes, releases, snoozes, session, queue, task, reply,
        unique, correlation, tie = struct.unpack(LAYOUT, packed)
    return {
        state = state, lane = lane, dead = dead, cancelling = cancelling, keyed = keyed, taken = taken, kin = kin, aged = aged,
        starts = starts,
        version = version, began = began, finished = finished, due = due, rank = rank, created = created,
        expires = expires, deadline = deadline, keep = keep, priority = priority, attempts = attempts,
        crash_budget = crash_budget, spent = spent, crashes = crashes, releases = releases, snoozes = snoozes,
        session = session, queue = queue, task = task, reply = reply, unique = unique, correlation = correlation, tie = tie,
    }
end

local function pack_head(h)
    return struct.pack(
        LAYOUT, h.state, h.lane, h.dead, h.cancelling, h.keyed, h.taken, h.kin, h.aged, h.starts, h.version, h.began, h.finished, h.due,
        h.rank, h.created, h.expires, h.deadline, h.keep, h.priority, h.attempts, h.crash_budget, h.spent, h.crashes,
        h.releases, h.snoozes, h.session, h.queue, h.task, h.reply, h.unique, h.correlation, h.tie
    )
end

-- Words of one command at most: Lua holds so many at once.
local WIDE = 1000
-- Heads that this script has read or written, packed; false where there is none.
local heads = {}

-- Read the heads of many jobs at once, so that `head_of` need not.
local function read_heads(ids)
    for first = 1, #ids, WIDE do
        local last = math.min(first + WIDE - 1, #ids)
        local found = redis.call('HMGET', P .. 'head', unpack(ids, first, last))
        for i = first, last do heads[ids[i]] = found[i - first + 1] end
    end
end

local function head_of(id)
    local packed = heads[id]
    if packed == nil then
        packed = redis.call('HGET', P .. 'head', id)
        heads[id] = packed
    end
    return packed and unpack_head(packed)
end

local function begun(h)
    return h.spent + h.crashes + h.snoozes > 0
end

-- When it ends as expired unless it runs: once it has begun, only its deadline can end it.
local function lapse_of(h)
    if begun(h) then return h.deadline end
    return math.min(h.expires, h.deadline)
end
