-- The first schema: jobs, their large values, sessions, and counts.
-- In: nothing. Out: nothing.
-- Locks: runs whole inside one write transaction, which also raises user_version.
-- Safe to repeat: it is not run again once user_version says 1.
--
-- Times are integer milliseconds since the epoch. Every index but the primary keys is partial, so that a job costs
-- only the index of the state it is in, and an idle store has nothing to look through.

CREATE TABLE jobs (
    id BLOB PRIMARY KEY NOT NULL,
    state INTEGER NOT NULL,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    -- The fence. A negative session is one that the job was taken from: nothing it says is believed any more.
    session INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    -- The kind of slot that it needs, and its place among those that need the same.
    lane INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,
    began INTEGER,
    finished INTEGER,
    expires INTEGER,
    deadline INTEGER,
    -- When a job that is not running ends as expired; when the record of an ended one may go.
    lapse INTEGER,
    prune_at INTEGER,
    spent INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    crash_budget INTEGER NOT NULL,
    releases INTEGER NOT NULL DEFAULT 0,
    snoozes INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    cancelling INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    unique_key TEXT,
    keep INTEGER,
    reply TEXT,
    codec TEXT NOT NULL,
    result_codec TEXT,
    -- JSON: why it did not succeed; what its worker needs to know; the last change by a person; ended starts.
    failure TEXT,
    extras TEXT,
    change TEXT,
    log TEXT,
    -- Text where the codec's bytes are text, else a blob; an integer is the key of a large one in `blobs`.
    body ANY,
    result ANY
) STRICT, WITHOUT ROWID;

-- Suspects stand apart, so that a lease never has to step over them. 2 is `limits.SUSPECT_AT`; a test compares.
CREATE INDEX ready ON jobs (queue, lane, rank, id) WHERE state = 2 AND crashes < 2;
CREATE INDEX suspects ON jobs (queue, lane, rank, id) WHERE state = 2 AND crashes >= 2;
CREATE INDEX held ON jobs (session, id) WHERE state = 3;
CREATE INDEX due ON jobs (queue, due, id) WHERE state IN (1, 6);
CREATE INDEX parked ON jobs (task, queue, lane, rank, id) WHERE state = 7;
CREATE INDEX parked_since ON jobs (began, id) WHERE state = 7;
CREATE INDEX lapsing ON jobs (lapse, id) WHERE lapse IS NOT NULL AND state IN (1, 2, 6, 7);
CREATE INDEX cancels ON jobs (session, id) WHERE cancelling = 1;
CREATE UNIQUE INDEX live_unique ON jobs (task, unique_key) WHERE unique_key IS NOT NULL AND state < 10;
CREATE INDEX kept ON jobs (prune_at, id) WHERE prune_at IS NOT NULL AND dead = 0 AND state < 20;
CREATE INDEX kept_dead ON jobs (prune_at, id) WHERE prune_at IS NOT NULL AND dead = 1;
CREATE INDEX dead_letters ON jobs (id) WHERE dead = 1;
-- State 20 is a record that was erased at success. Readers see none; for a minute or so it still answers those who
-- repeat a push or a settle because they missed the answer.
CREATE INDEX erased ON jobs (prune_at, id) WHERE state = 20;

-- Bodies and results too large to be copied with their row at each change of its state.
CREATE TABLE blobs (
    key INTEGER PRIMARY KEY NOT NULL,
    data ANY NOT NULL
) STRICT;

CREATE TABLE sessions (
    session INTEGER PRIMARY KEY NOT NULL,
    worker TEXT NOT NULL,
    tasks TEXT NOT NULL,
    card TEXT NOT NULL,
    ttl INTEGER NOT NULL,
    opened INTEGER NOT NULL,
    beat INTEGER NOT NULL DEFAULT 0,
    deadline INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    vitals TEXT NOT NULL DEFAULT '{}',
    -- Once ended: what is known about it, and whether some of its jobs are still to be returned.
    ended INTEGER,
    started TEXT,
    evidence TEXT,
    crashed INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0,
    owing INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX sessions_live ON sessions (session) WHERE ended IS NULL;
CREATE INDEX sessions_owing ON sessions (session) WHERE owing = 1;
CREATE INDEX sessions_ended ON sessions (ended) WHERE ended IS NOT NULL;

-- Jobs by queue and state, changed by the difference that each transaction makes.
-- State -1 counts dead letters, state -2 records that were erased at success.
CREATE TABLE counts (
    queue TEXT NOT NULL,
    state INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, state)
) STRICT, WITHOUT ROWID;
