-- Flow control: what decides whether a job may run now.
-- In: nothing. Out: nothing.
-- Locks: runs whole inside one write transaction, which also raises user_version.
-- Safe to repeat: it is not run again once user_version says 3.

-- ---- limits of queues. Queues that have any: few, so that all of them are read along by whoever needs one. Times are
-- milliseconds; null is the usual ageing, and for the others no limit.
CREATE TABLE limits (
    queue TEXT PRIMARY KEY NOT NULL,
    newest INTEGER NOT NULL DEFAULT 0,
    ageing INTEGER,
    max_age INTEGER,
    max_length INTEGER,
    concurrency INTEGER
) STRICT, WITHOUT ROWID;
