-- A store as the release with schema 1 left it: ended, waiting, parked and running jobs, small and large. As text,
-- since a file would be a hundred pages, nearly all of them empty.
BEGIN TRANSACTION;
DROP TABLE IF EXISTS blobs;
CREATE TABLE blobs (
    key INTEGER PRIMARY KEY NOT NULL,
    data ANY NOT NULL
) STRICT;
INSERT INTO blobs VALUES(1,'"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"');
INSERT INTO blobs VALUES(2,'"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"');
DROP TABLE IF EXISTS counts;
CREATE TABLE counts (
    queue TEXT NOT NULL,
    state INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, state)
) STRICT, WITHOUT ROWID;
INSERT INTO counts VALUES('mail',-2,1);
INSERT INTO counts VALUES('mail',-1,3);
INSERT INTO counts VALUES('mail',1,1);
INSERT INTO counts VALUES('mail',2,1);
INSERT INTO counts VALUES('mail',3,1);
INSERT INTO counts VALUES('mail',6,1);
INSERT INTO counts VALUES('mail',7,1);
INSERT INTO counts VALUES('mail',10,1);
INSERT INTO counts VALUES('mail',11,3);
INSERT INTO counts VALUES('mail',12,1);
INSERT INTO counts VALUES('other',2,1);
DROP TABLE IF EXISTS jobs;
CREATE TABLE jobs (
    id BLOB PRIMARY KEY NOT NULL,
    state INTEGER NOT NULL,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    session INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    lane INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,
    began INTEGER,
    finished INTEGER,
    expires INTEGER,
    deadline INTEGER,
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
    failure TEXT,
    extras TEXT,
    change TEXT,
    log TEXT,
    body ANY,
    result ANY
) STRICT, WITHOUT ROWID;
INSERT INTO jobs VALUES(X'01A0C4506C00707697A30E79C5309BE7',10,'mail','send',403119159227085959,1,0,1790000000000,0,1790000000000,1790000000000,1790000000000,1790000001000,NULL,NULL,NULL,1790086401000,0,5,0,3,0,0,0,0,3,NULL,NULL,NULL,'json','json',NULL,NULL,NULL,NULL,'{"to":"a"}','"ok"');
INSERT INTO jobs VALUES(X'01A0C4506FE8707697A30E79C5309BE7',11,'mail','send',403119159227085959,1,0,1790000001000,0,1790000001000,1790000001000,1790000001000,1790000002000,NULL,NULL,NULL,1791209602000,1,5,0,3,0,0,1,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":2,"began":1790000001.0,"ended":1790000002.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]','{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C45073D0707697A30E79C5309BE7',11,'mail','send',403119159227085959,1,0,1790000002000,0,1790000002000,1790000002000,1790000002000,1790000003000,NULL,NULL,NULL,1791209603000,1,5,0,3,0,0,1,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":2,"began":1790000002.0,"ended":1790000003.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]','{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C45077B8707697A30E79C5309BE7',12,'mail','send',403119159227085959,1,0,1790000003000,0,1790000003000,1790000003000,1790000003000,1790000004000,NULL,NULL,NULL,1790086404000,0,5,0,3,0,0,0,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":7,"began":1790000003.0,"ended":1790000004.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]','{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4507BA0707697A30E79C5309BE7',6,'mail','send',403119159227085959,1,0,1790003605000,0,1790000004000,1790003605000,1790000004000,NULL,NULL,NULL,NULL,NULL,1,5,0,3,0,0,0,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":2,"began":1790000004.0,"ended":1790000005.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]','{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4507F88707697A30E79C5309BE7',7,'mail','rare',403119159227085959,1,0,1790000005000,0,1790000005000,1790000005000,1790000005000,NULL,NULL,NULL,NULL,NULL,0,5,0,3,0,0,0,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":5,"began":1790000005.0,"ended":1790000006.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]','{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4508370707697A30E79C5309BE7',20,'mail','send',403119159227085959,1,0,1790000006000,0,1790000006000,1790000006000,1790000006000,1790000007000,NULL,NULL,NULL,1790000067000,0,5,0,3,0,0,0,0,3,NULL,0,NULL,'json',NULL,NULL,NULL,NULL,NULL,'',NULL);
INSERT INTO jobs VALUES(X'01A0C4508758707697A30E79C5309BE7',11,'mail','send',403119159227085959,1,0,1790000007000,0,1790000007000,1790000007000,1790000007000,1790000008000,NULL,NULL,NULL,1791209608000,1,5,0,3,0,0,1,0,3,NULL,NULL,NULL,'json',NULL,'{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}',NULL,NULL,'[{"number":1,"outcome":2,"began":1790000007.0,"ended":1790000008.0,"worker":"old","failure":{"reason":"exception","message":"it broke","type":"ValueError","traceback":"Traceback (most recent call last):\n  File \"/app/mail.py\", line 3, in send\n    raise ValueError\nValueError: it broke\n"}}]',1,NULL);
INSERT INTO jobs VALUES(X'01A0C4508B40707697A30E79C5309BE7',1,'mail','send',0,0,0,1790086408000,0,1790000008000,1790086408000,NULL,NULL,NULL,NULL,NULL,NULL,0,5,0,3,0,0,0,0,1,'k',NULL,NULL,'json',NULL,NULL,NULL,NULL,NULL,'{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4508B40707697A30E79CC935900',3,'mail','send',403119159227085959,1,0,1790000008000,0,1790000008000,1790000008000,1790000008000,NULL,NULL,NULL,NULL,NULL,0,5,0,3,0,0,0,0,2,NULL,NULL,NULL,'json',NULL,NULL,NULL,NULL,NULL,'{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4508B40707697A30E7A40618285',2,'mail','send',0,0,0,1789992808000,2,1790000008000,1790000008000,NULL,NULL,NULL,NULL,NULL,NULL,0,5,0,3,0,0,0,0,1,NULL,NULL,NULL,'json',NULL,NULL,'{"tags":["vip"],"correlation_id":"order-1"}',NULL,NULL,'{"to":"a"}',NULL);
INSERT INTO jobs VALUES(X'01A0C4508B40707697A30E7B1F9C1876',2,'other','send',0,0,0,1790000008000,0,1790000008000,1790000008000,NULL,NULL,NULL,NULL,NULL,NULL,0,5,0,3,0,0,0,0,1,NULL,NULL,NULL,'json',NULL,NULL,NULL,NULL,NULL,2,NULL);
CREATE INDEX cancels ON jobs (session, id) WHERE cancelling = 1;
CREATE INDEX dead_letters ON jobs (id) WHERE dead = 1;
CREATE INDEX due ON jobs (queue, due, id) WHERE state IN (1, 6);
CREATE INDEX erased ON jobs (prune_at, id) WHERE state = 20;
CREATE INDEX held ON jobs (session, id) WHERE state = 3;
CREATE INDEX kept ON jobs (prune_at, id) WHERE prune_at IS NOT NULL AND dead = 0 AND state < 20;
CREATE INDEX kept_dead ON jobs (prune_at, id) WHERE prune_at IS NOT NULL AND dead = 1;
CREATE INDEX lapsing ON jobs (lapse, id) WHERE lapse IS NOT NULL AND state IN (1, 2, 6, 7);
CREATE UNIQUE INDEX live_unique ON jobs (task, unique_key) WHERE unique_key IS NOT NULL AND state < 10;
CREATE INDEX parked ON jobs (task, queue, lane, rank, id) WHERE state = 7;
CREATE INDEX parked_since ON jobs (began, id) WHERE state = 7;
CREATE INDEX ready ON jobs (queue, lane, rank, id) WHERE state = 2 AND crashes < 2;
CREATE INDEX suspects ON jobs (queue, lane, rank, id) WHERE state = 2 AND crashes >= 2;
DROP TABLE IF EXISTS sessions;
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
    ended INTEGER,
    started TEXT,
    evidence TEXT,
    crashed INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0,
    owing INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sessions VALUES(403119159227085959,'old','["send"]','{"worker":"old","host":"h","pid":1,"tasks":["send"],"queues":["mail"],"ttl":10.0,"slots":0}',10000,1790000000000,0,1790000010000,1790000000000,'{}',NULL,NULL,NULL,0,0,0);
CREATE INDEX sessions_ended ON sessions (ended) WHERE ended IS NOT NULL;
CREATE INDEX sessions_live ON sessions (session) WHERE ended IS NULL;
CREATE INDEX sessions_owing ON sessions (session) WHERE owing = 1;
pragma user_version=1;
pragma application_id=1313821257;
COMMIT TRANSACTION;
