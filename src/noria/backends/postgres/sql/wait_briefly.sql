-- Have this transaction wait for locks of others no longer than this.
-- In: 1 milliseconds. Out: one row (the same, as text).
-- Locks: nothing.
-- Safe to repeat: yes.
SELECT set_config('lock_timeout', $1::bigint::text, true)
