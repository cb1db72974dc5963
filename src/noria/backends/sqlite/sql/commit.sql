-- End a transaction; on return a write has waited for the disk if `synchronous` is FULL.
-- In: nothing. Out: nothing.
-- Locks: releases all.
-- Safe to repeat: no; after an error, in_transaction says whether it still has to be rolled back.
COMMIT
