-- What a front needs beside the jobs: documents, pauses, orders to workers, numbers by the minute, ways to find jobs.
-- In: nothing. Out: nothing.
-- Locks: runs whole inside one write transaction, which also raises user_version.
-- Safe to repeat: it is not run again once user_version says 2.

-- A version is never used twice, so that a document which was deleted and made anew cannot pass for the old one.
CREATE TABLE board (
    version INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    expires INTEGER,
    data ANY NOT NULL
) STRICT;

CREATE UNIQUE INDEX board_names ON board (kind, name);
CREATE INDEX board_expiring ON board (expires) WHERE expires IS NOT NULL;

-- Queues that are paused now; nearly always none, so that a lease looks at an empty table.
CREATE TABLE pauses (
    queue TEXT PRIMARY KEY NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,
    reason TEXT NOT NULL,
    by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is asked of a worker: 'quiet' or 'stop'.
ALTER TABLE sessions ADD COLUMN command TEXT;

-- Of its last failure: the same for failures of the same type that were raised at the same place.
ALTER TABLE jobs ADD COLUMN fingerprint TEXT;
UPDATE jobs SET fingerprint = 'unknown' WHERE dead = 1;

CREATE INDEX unsuccessful ON jobs (state, id) WHERE state > 10 AND state < 20;
CREATE INDEX dead_alike ON jobs (fingerprint, finished, id) WHERE dead = 1;
CREATE INDEX correlated ON jobs (extras ->> 'correlation_id', id) WHERE extras ->> 'correlation_id' IS NOT NULL;

-- How many jobs came and went, by the minute (since the epoch) in which they did; minute 0 counts all of them.
CREATE TABLE flow (
    minute INTEGER NOT NULL,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    word TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (minute, queue, task, word)
) STRICT, WITHOUT ROWID;
