-- Small documents: each a packed version and expiry before its data, in a hash for each kind, with its name in a sorted set.
-- Gives: doc_of, write_docs.

-- Version and expiry of a document that is there and whose time is not over; its data begin behind them.
local function doc_of(kind, name)
    local packed = redis.call('HGET', P .. 'docs:' .. kind, name)
    if not packed then return 0 end
    local version, expires, data_at = struct.unpack('<dd', packed)
    if expires <= now then return 0 end
    return version, expires, packed:sub(data_at)
end

local function write_doc(kind, name, data, ttl)
    local version, expires = redis.call('INCR', P .. 'version'), NEVER
    if ttl ~= '' then expires = now + tonumber(ttl) end
    redis.call('HSET', P .. 'docs:' .. kind, name, struct.pack('<dd', version, expires) .. data)
    redis.call('ZADD', P .. 'names:' .. kind, 0, name)
    if expires < NEVER then
        redis.call('ZADD', P .. 'doc_times', expires, kind .. '\0' .. name)
    else
        redis.call('ZREM', P .. 'doc_times', kind .. '\0' .. name)
    end
    return version
end

local function delete_doc(kind, name)
    redis.call('HDEL', P .. 'docs:' .. kind, name)
    redis.call('ZREM', P .. 'names:' .. kind, name)
    redis.call('ZREM', P .. 'doc_times', kind .. '\0' .. name)
    return 0
end

-- Write `n` documents, each of five arguments from ARGV[at] on: kind, name, expected version or empty, time to live or
-- empty, and 'd' to delete it or 'w' and its data. Gives a text if one conflicts: the versions that there are; nothing
-- is written then. Else nothing, and the versions that there are now.
local function write_docs(at, n)
    local versions, conflict = {}, false
    for i = 0, n - 1 do
        local a = at + 5 * i
        local version = doc_of(ARGV[a], ARGV[a + 1])
        local expected = ARGV[a + 2]
        conflict = conflict or expected ~= '' and tonumber(expected) ~= version
        versions[i + 1] = string.format('%.0f', version)
    end
    if conflict then return table.concat(versions, ' ') end
    for i = 0, n - 1 do
        local a = at + 5 * i
        local what = ARGV[a + 4]
        if what:sub(1, 1) == 'd' then
            versions[i + 1] = delete_doc(ARGV[a], ARGV[a + 1])
        else
            versions[i + 1] = write_doc(ARGV[a], ARGV[a + 1], what:sub(2), ARGV[a + 3])
        end
    end
    return nil, versions
end
