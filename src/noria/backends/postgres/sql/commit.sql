-- End a transaction; on return a write is as durable as the server's synchronous_commit says.
-- In: nothing. Out: nothing.
-- Locks: releases all.
-- Safe to repeat: no; if no answer comes, nobody knows whether it was done.
COMMIT
