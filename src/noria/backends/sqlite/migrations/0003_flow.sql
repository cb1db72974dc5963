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
    concurrency INTEGER,
    -- JSON {queue: how many}: as long as so many wait in one of these, nothing of this one is leased.
    high_water TEXT
) STRICT, WITHOUT ROWID;
-- Unique keys: for how long a job holds its own. NULL: as long as it lives; 0: until its first lease; a time: until
-- then, whatever becomes of the job, until somebody who finds the time over writes -1; -1: it holds it no more.
ALTER TABLE jobs ADD COLUMN hold INTEGER;
DROP INDEX live_unique;
CREATE UNIQUE INDEX live_unique ON jobs (task, unique_key) WHERE unique_key IS NOT NULL
    AND CASE WHEN hold > 0 THEN state < 20 ELSE state < 10 AND (hold IS NULL OR hold = 0 AND starts = 0) END;
-- Follow-ups. Children name their parent in their extras; a parent is linked to jobs that stand for further ones, as
-- JSON [id as hex, …].
ALTER TABLE jobs ADD COLUMN linked TEXT;
CREATE INDEX children ON jobs (extras ->> 'parent_id', id) WHERE extras ->> 'parent_id' IS NOT NULL;

-- ---- what a job remembers of the times that a person has had it run again: JSON [Life, …] (model/past.py).
ALTER TABLE jobs ADD COLUMN past TEXT;

-- ---- questions and marks. One row for each job of which a start has written something
-- down. Only what the last of these starts said of itself is kept, but for the checkpoint and the count of items. A
-- job asks as long as the start is its own that this row names; so whatever ends that start ends the asking.
CREATE TABLE marks (
    id BLOB PRIMARY KEY NOT NULL,
    session INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    progress REAL,
    note TEXT,
    noted INTEGER,
    asks TEXT,
    emitted INTEGER NOT NULL,
    -- Of these, by this start.
    said INTEGER NOT NULL,
    checkpoint BLOB,
    -- When it is to be seen whether the record is still there, with which this goes.
    look_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX marks_asking ON marks (id) WHERE asks IS NOT NULL;
CREATE INDEX marks_old ON marks (look_at);

CREATE TABLE items (
    id BLOB NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (id, n)
) STRICT, WITHOUT ROWID;

-- Workflows. A job in state 4 waits for others: how many of those have not ended yet, and whether one of the rest did not
-- succeed (of the trace of an erased record: whether that one did not). `awaited` marks a job that others wait for.
ALTER TABLE jobs ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN spoiled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
DROP INDEX lapsing;
CREATE INDEX lapsing ON jobs (lapse, id) WHERE lapse IS NOT NULL AND state IN (1, 2, 4, 6, 7);
CREATE INDEX waiting_all ON jobs (id) WHERE state = 4;

CREATE TABLE awaits (
    parent BLOB NOT NULL,
    child BLOB NOT NULL,
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;

CREATE INDEX awaits_of ON awaits (child, parent);

-- Jobs that have ended, and how, as long as some that wait for them have not been told.
CREATE TABLE ended_parents (
    parent BLOB PRIMARY KEY NOT NULL,
    state INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- ---- Groups and resources

-- The group of a job; its order in there; and whether it has one of the places: it is eligible, it runs, or it is to be
-- tried again and holds up those behind it.
ALTER TABLE jobs ADD COLUMN family TEXT;
ALTER TABLE jobs ADD COLUMN group_key TEXT;
ALTER TABLE jobs ADD COLUMN turn INTEGER;
ALTER TABLE jobs ADD COLUMN placed INTEGER NOT NULL DEFAULT 0;
-- The resources of which it needs a token each, in order of their names, with spaces between; '' for a job that has a
-- group alone, null for a free one.
ALTER TABLE jobs ADD COLUMN gate TEXT;

-- Jobs that wait in line have state 4 as well, and wait for nobody. Bound ones stand apart from the free, in lines of those that need the same.
DROP INDEX ready;
CREATE INDEX ready ON jobs (queue, lane, rank, id) WHERE state = 2 AND crashes < 2 AND gate IS NULL;
CREATE INDEX bound ON jobs (queue, lane, gate, rank, id) WHERE state = 2 AND crashes < 2 AND gate IS NOT NULL;
CREATE INDEX bound_apart ON jobs (queue, lane, rank, id)
WHERE gate IS NOT NULL AND ((state = 2 AND crashes >= 2) OR state = 7);
CREATE INDEX bound_running ON jobs (gate, id) WHERE state = 3 AND gate > '';
CREATE INDEX waiting ON jobs (family, group_key, turn, id) WHERE state = 4 AND pending = 0;
CREATE INDEX placed ON jobs (family, group_key, id) WHERE placed = 1 AND state < 10;

-- The rules of families, as JSON.
CREATE TABLE families (
    family TEXT PRIMARY KEY NOT NULL,
    rule TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Groups in use. One that has no place taken, is not closed and owes its rate nothing has no row.
CREATE TABLE groups (
    family TEXT NOT NULL,
    group_key TEXT NOT NULL,
    -- Places that are taken; and how many of them by jobs that are eligible, counted only where that matters.
    taken INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    -- When the last start would have been in an even flow.
    tat REAL NOT NULL,
    closed INTEGER,
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    -- When time alone changes something.
    wake INTEGER,
    PRIMARY KEY (family, group_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX groups_waking ON groups (wake) WHERE wake IS NOT NULL;

-- How many tokens are taken is counted by the jobs that run.
CREATE TABLE resources (
    name TEXT PRIMARY KEY NOT NULL,
    need TEXT NOT NULL,
    tat REAL NOT NULL
) STRICT, WITHOUT ROWID;
