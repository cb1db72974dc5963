#!lua flags=allow-oom
-- Ask the server's access rules, before anything is written, what they forbid this user of what Noria needs.
-- Needs: -
-- In: KEYS[1] the prefix of all keys; from ARGV[3] on the names of commands, each of which takes a key or a channel first, or nothing.
-- Out: the names of those that are forbidden on the keys, or channels, of this namespace.
-- Locks: nothing else; nothing is read or written, and the namespace need not be there.
-- Safe to repeat: yes.
local P, forbidden = KEYS[1], {}
for at = 3, #ARGV do
    if not redis.acl_check_cmd(ARGV[at], P .. 'hint:rights') then forbidden[#forbidden + 1] = ARGV[at] end
end
if not redis.acl_check_cmd('EVAL', '', '1', P) then forbidden[#forbidden + 1] = 'EVAL' end
return forbidden
