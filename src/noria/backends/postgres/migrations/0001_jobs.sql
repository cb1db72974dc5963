-- The first schema: jobs, where each of them stands, sessions, documents, pauses, and counts.
-- In: nothing; `noria` stands for the schema of the namespace, which is there. Out: nothing.
-- Locks: runs whole inside one transaction, under the advisory lock of migrations.
-- Safe to repeat: it is not run again once `meta` says version 1.
-- Runs from: 1
--
-- Times are integer milliseconds since the epoch. Texts that hold JSON are kept as they came: nobody else's rules for
-- JSON may refuse them.
--
-- A job's row is changed twice in its usual life, by its lease and by its end. Neither change touches a column that
-- an index mentions, so both stay on their page (HOT): no index may mention state, session, rank or any time but
-- `lapse`. Where a job stands is in narrow tables of pointers instead, which a lease and a sweep read in order.
-- Rule for locks: whoever comes from a pointer waits for nobody (SKIP LOCKED, for the pointer and for the job);
-- whoever comes with ids locks jobs in the order of ids, a session before its jobs, and then may touch pointers.

CREATE TABLE noria.meta (
    version integer NOT NULL,
    runs_from integer NOT NULL  -- programs that know this version, or a later one, may use the schema
);

CREATE FUNCTION noria.hex(id uuid) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT encode(uuid_send(id), 'hex') $$;

-- One field of an object; nothing if the text cannot be read as PostgreSQL reads JSON.
CREATE FUNCTION noria.peek(object text, field text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
AS $$ BEGIN RETURN object::json ->> field; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;

-- What a path leads to, as people write it: texts without quotes, the rest as JSON; nothing where there is nothing.
CREATE FUNCTION noria.argument(body text, path text[]) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
AS $$ BEGIN
    RETURN CASE json_typeof(body::json #> path)
        WHEN 'string' THEN body::json #>> path
        ELSE (body::json #> path)::text
    END;
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;

CREATE TABLE noria.jobs (
    id uuid PRIMARY KEY,
    session bigint NOT NULL DEFAULT 0,
    starts bigint NOT NULL DEFAULT 0,
    rank bigint NOT NULL,
    created bigint NOT NULL,
    due bigint NOT NULL,
    began bigint,
    finished bigint,
    expires bigint,
    deadline bigint,
    -- When a job that is not running ends as expired; when the record of an ended one may go.
    lapse bigint,
    prune_at bigint,
    spent bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL,
    crashes bigint NOT NULL DEFAULT 0,
    crash_budget bigint NOT NULL,
    releases bigint NOT NULL DEFAULT 0,
    snoozes bigint NOT NULL DEFAULT 0,
    keep bigint,
    version bigint NOT NULL DEFAULT 1,
    -- The session in whose inbox the order to cancel this job lies.
    inbox bigint,
    priority integer NOT NULL,
    state smallint NOT NULL,
    -- The kind of slot that it needs, and its place among those that need the same.
    lane smallint NOT NULL,
    dead boolean NOT NULL DEFAULT false,
    queue text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    codec text NOT NULL,
    result_codec text,
    unique_key text COLLATE "C",
    -- The unique key as long as the job is live.
    live_key text COLLATE "C",
    reply text,
    correlation_id text COLLATE "C",
    fingerprint text COLLATE "C",
    -- JSON: why it did not succeed; what its worker needs to know; the last change by a person; ended starts.
    failure text,
    extras text,
    change text,
    log text[],
    -- Text where the codec's bytes are text, else bytes; a large one is kept apart by PostgreSQL itself.
    body text,
    body_bytes bytea,
    result text,
    result_bytes bytea
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX live_unique ON noria.jobs (task, live_key) WHERE live_key IS NOT NULL;
CREATE INDEX lapsing ON noria.jobs (lapse, id) WHERE lapse IS NOT NULL;
CREATE INDEX cancels ON noria.jobs (inbox, id) WHERE inbox IS NOT NULL;
CREATE INDEX correlated ON noria.jobs (correlation_id, id) WHERE correlation_id IS NOT NULL;

-- Jobs that may run. Suspects stand apart, so that a lease never has to step over them.
CREATE TABLE noria.ready (
    queue text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    suspect boolean NOT NULL,
    rank bigint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (queue, lane, suspect, rank, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Jobs that wait for their time.
CREATE TABLE noria.due (
    queue text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (queue, at, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX due_first ON noria.due (at);

-- Jobs that a session holds.
CREATE TABLE noria.held (
    session bigint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (session, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Jobs whose task no worker knew.
CREATE TABLE noria.parked (
    task text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    lane smallint NOT NULL,
    suspect boolean NOT NULL,
    rank bigint NOT NULL,
    id uuid NOT NULL,
    since bigint NOT NULL,
    PRIMARY KEY (task, queue, lane, suspect, rank, id)
);

CREATE INDEX parked_since ON noria.parked (since, id);

-- Ended jobs, by when their records may go. Kind 0: records; 1: dead letters; 2: traces of records that were erased,
-- which for a minute or so still answer those who repeat a push or a settle because they missed the answer.
CREATE TABLE noria.kept (
    kind smallint NOT NULL,
    at bigint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (kind, at, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE noria.unsuccessful (
    state smallint NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (state, id)
);

CREATE TABLE noria.letters (
    id uuid PRIMARY KEY,
    fingerprint text COLLATE "C" NOT NULL,
    finished bigint NOT NULL
);

CREATE INDEX letters_alike ON noria.letters (fingerprint, finished, id);

-- A fence that was not found among what could be locked: 2 if this session has ended the start, else 0. Volatile, so
-- that it sees what was committed while the statement that asks was waiting.
CREATE FUNCTION noria.fence(job uuid, holder bigint, start bigint) RETURNS integer LANGUAGE sql VOLATILE
AS $$
    SELECT coalesce((
        SELECT CASE WHEN j.state = 3 THEN 0 ELSE 2 END FROM noria.jobs AS j
        WHERE j.id = job AND j.session = holder AND j.starts = start
    ), 0)
$$;

CREATE TABLE noria.sessions (
    session bigint PRIMARY KEY,
    worker text NOT NULL,
    tasks text[] NOT NULL,
    card text NOT NULL,
    ttl bigint NOT NULL,
    opened bigint NOT NULL,
    beat bigint NOT NULL DEFAULT 0,
    deadline bigint NOT NULL,
    seen bigint NOT NULL,
    vitals text NOT NULL DEFAULT '{}',
    -- What is asked of its worker: 'quiet' or 'stop'.
    command text,
    -- Once ended: what is known about it, and whether some of its jobs are still to be returned.
    ended bigint,
    started text,
    evidence text,
    crashed bigint NOT NULL DEFAULT 0,
    released bigint NOT NULL DEFAULT 0,
    owing boolean NOT NULL DEFAULT false
) WITH (fillfactor = 60);

CREATE INDEX sessions_live ON noria.sessions (session) WHERE ended IS NULL;
CREATE INDEX sessions_owing ON noria.sessions (session) WHERE owing;
CREATE INDEX sessions_ended ON noria.sessions (ended) WHERE ended IS NOT NULL;

-- Documents. A version is never used twice, so that a document which was deleted and made anew cannot pass for the
-- old one. Version 0 is a name that a writer claims before it looks: an expired document to all others.
CREATE SEQUENCE noria.board_version;

CREATE TABLE noria.board (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    expires bigint,
    data text,
    data_bytes bytea,
    PRIMARY KEY (kind, name)
);

CREATE INDEX board_expiring ON noria.board (expires) WHERE expires IS NOT NULL;

-- Queues that are paused now; nearly always none.
CREATE TABLE noria.pauses (
    queue text COLLATE "C" PRIMARY KEY,
    since bigint NOT NULL,
    until bigint,
    reason text NOT NULL,
    by text NOT NULL
);

-- Jobs by queue and state: sums, and the changes that transactions have added since, so that no transaction waits for
-- another only to count. A sweep folds the changes into the sums; whoever reads adds both up.
-- State -1 counts dead letters, state -2 records that were erased.
CREATE TABLE noria.count_sums (
    queue text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (queue, state)
) WITH (fillfactor = 50);

CREATE TABLE noria.count_changes (
    queue text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    n bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE VIEW noria.counts AS
SELECT queue, state, sum(n)::bigint AS n FROM (
    SELECT queue, state, n FROM noria.count_sums
    UNION ALL
    SELECT queue, state, n FROM noria.count_changes
) AS both_of_them
GROUP BY queue, state;

-- How many jobs came and went, by the minute (since the epoch) in which they did; minute 0 counts all of them.
CREATE TABLE noria.flow_sums (
    minute bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (minute, queue, task, word)
) WITH (fillfactor = 50);

CREATE TABLE noria.flow_changes (
    minute bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    n bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE VIEW noria.flow AS
SELECT minute, queue, task, word, n FROM noria.flow_sums
UNION ALL
SELECT minute, queue, task, word, n FROM noria.flow_changes
UNION ALL
SELECT 0, queue, task, word, n FROM noria.flow_changes;

INSERT INTO noria.meta (version, runs_from) VALUES (1, 1);
