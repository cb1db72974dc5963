#!lua flags=no-writes,allow-oom
-- Read documents of a kind in the order of their names, as long as they have no more bytes together than may be.
-- Needs: start, board
-- In: ARGV[3] kind; ARGV[4] and ARGV[5] the bounds of their names, as ZRANGEBYLEX takes them; ARGV[6] how many at most;
--     ARGV[7] how many bytes.
-- Out: for each, flat: name, version, expiry or empty, data; the first is there however large it is.
-- Locks: nothing.
-- Safe to repeat: yes.
-- Those whose time is over, and that no sweep has dropped yet, are stepped over: 10,000 of them at most.
local STRIDE = 1000
local limit, bytes, reply, from = tonumber(ARGV[6]), tonumber(ARGV[7]), {}, ARGV[4]
for _ = 1, 10 do
    local names = redis.call('ZRANGEBYLEX', P .. 'names:' .. ARGV[3], from, ARGV[5], 'LIMIT', 0, STRIDE)
    for _, name in ipairs(names) do
        local version, expires, data = doc_of(ARGV[3], name)
        if version > 0 then
            local n = #reply
            bytes = bytes - #data
            if n == 4 * limit or (bytes < 0 and n > 0) then return reply end
            reply[n + 1], reply[n + 2] = name, string.format('%.0f', version)
            reply[n + 3], reply[n + 4] = expires < NEVER and string.format('%.0f', expires) or '', data
        end
    end
    if #reply > 0 or #names < STRIDE then return reply end
    from = '(' .. names[#names]
end
return reply
