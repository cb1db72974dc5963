-- Resources within a lease: which tokens there are, and which lines of jobs cannot have theirs.
-- Gives: blocked, tokens_of.
local supplies, blocked, purse = {}, {}, nil

-- What handles tokens, made once it is asked for: see `ties`.
local function tokens_of()
    if purse then return purse end

    -- What there is of a resource; nothing if nobody has said.
    local function supply_of(name)
        if supplies[name] == nil then
            local packed = redis.call('HGET', P .. 'resources', name)
            supplies[name] = false
            if packed then
                local need, left = cjson.decode(packed:sub(9)), NEVER
                local tat = struct.unpack('<d', packed)
                if need.capacity then left = need.capacity - redis.call('ZCARD', P .. 'holding:' .. name) end
                if need.rate then left = math.min(left, tokens(need.rate, tat)) end
                supplies[name] = {tat = tat, rate = need.rate, left = left, need = packed:sub(9)}
            end
        end
        return supplies[name]
    end

    -- Take one token of each of these, or none.
    local function take_tokens(gate)
        for name in gate:gmatch('%S+') do
            local supply = supply_of(name)
            if supply and supply.left <= 0 then
                blocked[gate] = true
                return false
            end
        end
        for name in gate:gmatch('%S+') do
            local supply = supply_of(name)
            if supply then supply.left = supply.left - 1 end
        end
        return true
    end

    -- A job that needs these has started.
    local function start_tokens(gate)
        for name in gate:gmatch('%S+') do
            local supply = supply_of(name)
            if supply and supply.rate then
                supply.tat, supply.changed = math.max(supply.tat, now) + gap_of(supply.rate), true
            end
        end
    end

    local function write_supplies()
        for name, supply in pairs(supplies) do
            if supply and supply.changed then
                redis.call('HSET', P .. 'resources', name, struct.pack('<d', supply.tat) .. supply.need)
            end
        end
    end

    -- When the rates of a line will allow a job; never if it waits for somebody to give back a token.
    local function gate_opens(gate)
        local at = 0
        for name in gate:gmatch('%S+') do
            local supply = supply_of(name)
            if supply and supply.left <= 0 then
                if not supply.rate or tokens(supply.rate, supply.tat) > 0 then return NEVER end
                at = math.max(at, opens_at(supply.rate, supply.tat, 1))
            end
        end
        return at > 0 and at or NEVER
    end

    -- When a rate will allow the next job of a line that could have none.
    local function tokens_at()
        local at = NEVER
        for gate in pairs(blocked) do at = math.min(at, gate_opens(gate)) end
        return at
    end

    purse = {take = take_tokens, start = start_tokens, write = write_supplies, at = tokens_at}
    return purse
end
