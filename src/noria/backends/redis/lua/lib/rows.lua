-- What is decided on outside of a script, with the version by which it is seen whether that still holds.
-- Gives: row.

-- Adds a job to a reply: its id, head or null, last change, log, and card.
local function row(reply, id)
    local n = #reply
    reply[n + 1] = id
    for i, part in ipairs({'head', 'change', 'log', 'card'}) do
        reply[n + 1 + i] = redis.call('HGET', P .. part, id)
    end
end
