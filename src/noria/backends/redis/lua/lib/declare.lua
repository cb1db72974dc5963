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
            redis.call('HSET', P .. 'resources', name, (packed and packed:sub(1, 8) or struct.pack('<d', 0)) .. need)
            freed = true
        end
    end
end
