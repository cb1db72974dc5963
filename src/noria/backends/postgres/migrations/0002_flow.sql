-- Flow control: what decides whether a job may run now.
-- In: nothing. Out: nothing.
-- Locks: runs whole inside the transaction that records this version of the schema.
-- Safe to repeat: it is not run again once the schema says 2.
-- Runs from: 2

-- ---- limits of queues. Queues that have any: few, so that all of them are read along by whoever needs one. Times are
-- milliseconds; null is the usual ageing, and for the others no limit.
CREATE TABLE noria.limits (
    queue text COLLATE "C" PRIMARY KEY,
    newest smallint NOT NULL DEFAULT 0,
    ageing bigint,
    max_age bigint,
    max_length bigint,
    concurrency bigint,
    -- {queue: how many}: as long as so many wait in one of these, nothing of this one is leased.
    high_water jsonb
);
-- Unique keys: for how long a job holds its own. NULL: as long as it lives; 0: until its first lease; a time: until
-- then, whatever becomes of the job, until somebody who finds the time over writes -1; -1: it holds it no more.
-- As long as it does, `live_key` has the key.
ALTER TABLE noria.jobs ADD COLUMN hold bigint;
-- Follow-ups: the job that asked for this one, as in its extras; and the jobs that stand for follow-ups of this one, as
-- JSON [id as hex, …].
ALTER TABLE noria.jobs ADD COLUMN parent_id text COLLATE "C";
ALTER TABLE noria.jobs ADD COLUMN linked text;
CREATE INDEX children ON noria.jobs (parent_id, id) WHERE parent_id IS NOT NULL;

-- ---- what a job remembers of the times that a person has had it run again: JSON [Life, …] (model/past.py).
ALTER TABLE noria.jobs ADD COLUMN past text;

-- ---- questions and marks. One row for each job of which a start has written something
-- down. Only what the last of these starts said of itself is kept, but for the checkpoint and the count of items. A
-- job asks as long as the start is its own that this row names; so whatever ends that start ends the asking.
CREATE TABLE noria.marks (
    id uuid PRIMARY KEY,
    session bigint NOT NULL,
    starts bigint NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    progress double precision,
    noted bigint,
    emitted bigint NOT NULL,
    said bigint NOT NULL,  -- of these, by this start
    look_at bigint NOT NULL,  -- when it is to be seen whether the record is still there, with which this goes
    note text,
    asks text,
    checkpoint bytea
) WITH (fillfactor = 60);

CREATE INDEX marks_asking ON noria.marks (id) WHERE asks IS NOT NULL;
CREATE INDEX marks_old ON noria.marks (look_at);

CREATE TABLE noria.items (
    id uuid NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    starts bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (id, n)
);

-- Workflows. A job in state 4 waits for others: how many of those have not ended yet, and whether one of the rest did not
-- succeed (of the trace of an erased record: whether that one did not). `awaited` marks a job that others wait for.
ALTER TABLE noria.jobs ADD COLUMN pending integer NOT NULL DEFAULT 0;
ALTER TABLE noria.jobs ADD COLUMN spoiled boolean NOT NULL DEFAULT false;
ALTER TABLE noria.jobs ADD COLUMN awaited boolean NOT NULL DEFAULT false;

CREATE TABLE noria.awaits (
    parent uuid NOT NULL,
    child uuid NOT NULL,
    PRIMARY KEY (parent, child)
);

CREATE INDEX awaits_of ON noria.awaits (child, parent);

-- Jobs that wait for others, to be found.
CREATE TABLE noria.following (
    id uuid PRIMARY KEY
);

-- Jobs that have ended, and how, as long as some that wait for them have not been told.
CREATE TABLE noria.ended_parents (
    parent uuid PRIMARY KEY,
    state smallint NOT NULL
);

-- ---- Groups and resources

-- The group of a job; its order in there; and whether it has one of the places: it is eligible, it runs, or it is to be
-- tried again and holds up those behind it. A state of its own, 4, says that it waits in line. No index mentions these.
ALTER TABLE noria.jobs ADD COLUMN family text COLLATE "C";
ALTER TABLE noria.jobs ADD COLUMN group_key text COLLATE "C";
ALTER TABLE noria.jobs ADD COLUMN turn bigint;
ALTER TABLE noria.jobs ADD COLUMN placed boolean NOT NULL DEFAULT false;
-- The resources of which it needs a token each, in order of their names, with spaces between; '' for a job that has a
-- group alone, null for a free one.
ALTER TABLE noria.jobs ADD COLUMN gate text COLLATE "C";
ALTER TABLE noria.parked ADD COLUMN bound boolean NOT NULL DEFAULT false;
CREATE INDEX parked_bound ON noria.parked (queue, lane) WHERE bound;

-- Jobs that may run and have a group or needs. They stand apart from the free, in lines of those that need the same.
CREATE TABLE noria.bound (
    queue text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    suspect boolean NOT NULL,
    gate text COLLATE "C" NOT NULL,
    rank bigint NOT NULL,
    id uuid NOT NULL,
    family text COLLATE "C",
    group_key text COLLATE "C",
    PRIMARY KEY (queue, lane, suspect, gate, rank, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Jobs that wait in line.
CREATE TABLE noria.waiting (
    family text COLLATE "C" NOT NULL,
    group_key text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (family, group_key, turn, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Jobs that have a place of their group.
CREATE TABLE noria.places (
    family text COLLATE "C" NOT NULL,
    group_key text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (family, group_key, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Jobs that run and hold tokens: how many are taken is counted here, so that none is ever lost.
CREATE TABLE noria.tokens (
    gate text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (gate, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The rules of families, as JSON.
CREATE TABLE noria.families (
    family text COLLATE "C" PRIMARY KEY,
    rule text NOT NULL
);

-- Groups in use. One that has no place taken, is not closed and owes its rate nothing has no row.
-- Rule for locks: whoever hands over places locks the rows of groups, in the order of their names and after the jobs
-- that it came with; then it takes from the line only jobs that nobody has locked. A lease waits for no group.
CREATE TABLE noria.groups (
    family text COLLATE "C" NOT NULL,
    group_key text COLLATE "C" NOT NULL,
    -- Places that are taken; and how many of them by jobs that are eligible, counted only where that matters.
    taken bigint NOT NULL DEFAULT 0,
    ready bigint NOT NULL DEFAULT 0,
    -- When the last start would have been in an even flow.
    tat double precision NOT NULL DEFAULT 0,
    closed bigint,
    reason text NOT NULL DEFAULT '',
    by text NOT NULL DEFAULT '',
    -- When time alone changes something.
    wake bigint,
    PRIMARY KEY (family, group_key)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX groups_waking ON noria.groups (wake) WHERE wake IS NOT NULL;

-- Groups whose jobs callers have added or changed in transactions of their own, which must not lock what others need: to be
-- looked at by whoever leases or sweeps next. That one also adds the differences to what the group has taken and ready.
CREATE TABLE noria.coming (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    family text COLLATE "C" NOT NULL,
    group_key text COLLATE "C" NOT NULL,
    taken integer NOT NULL,
    ready integer NOT NULL
);

CREATE TABLE noria.resources (
    name text COLLATE "C" PRIMARY KEY,
    need text NOT NULL,
    tat double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 60);
