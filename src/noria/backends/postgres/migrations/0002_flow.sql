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
    concurrency bigint
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
