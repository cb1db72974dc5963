-- Hear hints of a channel, which takes the place of this name; a channel cannot be a value.
-- In: nothing. Out: nothing.
-- Locks: nothing.
-- Safe to repeat: yes.
LISTEN "channel"
