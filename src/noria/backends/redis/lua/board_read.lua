#!lua flags=no-writes,allow-oom
-- Read documents.
-- Needs: start, board
-- In: ARGV[3] kind; then the names.
-- Out: for each, flat: version, expiry or empty, data; three times null if there is none.
-- Locks: nothing.
-- Safe to repeat: yes.
local reply = {}
for at = 4, #ARGV do
    local version, expires, data = doc_of(ARGV[3], ARGV[at])
    local n = #reply
    reply[n + 1] = version > 0 and string.format('%.0f', version)
    reply[n + 2] = version > 0 and (expires < NEVER and string.format('%.0f', expires) or '')
    reply[n + 3] = version > 0 and data
end
return reply
