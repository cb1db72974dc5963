-- The rules of families and the resources that somebody tells of.
-- Gives: declare.

-- Set rules and resources where they are others. In: JSON of both by their names, each as JSON text; or nothing.
local function declare(text)
    if text == '' then return end
    local told = cjson.decode(text)
    for family, rule in pairs(told.families) do
        if redis.call('HGET', P .. 'families', family) ~= rule then
            redis.call('HSET', P .. 'families', family, rule)
            redis.call('HSET', P .. 'stirred', family, '')
            rules[family] = nil
        end
    end
    for name, need in pairs(told.resources) do
        local packed = redis.call('HGET', P .. 'resources', name)
        if not packed or packed:sub(9) ~= need then
            local tat, rate = packed and struct.unpack('<d', packed) or 0, cjson.decode(need).rate
            if rate then tat = owed(rate, tat) end
            redis.call('HSET', P .. 'resources', name, struct.pack('<d', tat) .. need)
            freed = true
        end
    end
end
