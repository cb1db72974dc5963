"""The settle on PostgreSQL: statements in one transaction and one pipeline, each with one JSON text in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from bench.sketch.process import processor_time
from bench.sketch.work import BODY, LIMIT, RESULT, SESSION, Batch, Found, Job

_SCHEMA: Final = """
CREATE TABLE jobs(id uuid PRIMARY KEY, queue text, state int, session text, starts int, grp text, live_key text,
    body text, result text) WITH (fillfactor = 60);
CREATE UNIQUE INDEX live ON jobs(live_key) WHERE live_key IS NOT NULL;
CREATE TABLE held(session text, id uuid, PRIMARY KEY(session, id));
CREATE TABLE ready(queue text, rank bigint, id uuid, PRIMARY KEY(queue, rank, id));
CREATE TABLE waiting(grp text, rank bigint, id uuid, PRIMARY KEY(grp, rank, id));
CREATE TABLE groups(grp text PRIMARY KEY, queue text, taken int) WITH (fillfactor = 60);
"""

# Other people's jobs: a plan that was made for empty tables looks through all of a table that has grown since.
_OTHERS: Final = """
INSERT INTO jobs SELECT gen_random_uuid(), 'other', 10, NULL, 1, NULL, NULL, '', '' FROM generate_series(1, 50000);
INSERT INTO held SELECT 'other', id FROM jobs LIMIT 5000;
INSERT INTO ready SELECT 'other', 0, id FROM jobs LIMIT 20000;
INSERT INTO waiting SELECT 'other:' || row_number() OVER () % 2000, 0, id FROM jobs LIMIT 20000;
INSERT INTO groups SELECT 'other:' || n, 'other', 0 FROM generate_series(0, 1999) AS n;
ANALYZE;
"""

_END: Final = """
WITH asked AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, v ->> 1 AS result, place
    FROM jsonb_array_elements(%(ends)s::jsonb) WITH ORDINALITY AS e (v, place)
), done AS (
    UPDATE jobs AS j SET state = 10, result = a.result, live_key = NULL FROM asked AS a
    WHERE j.id = a.id AND j.session = %(session)s AND j.starts = 1 AND j.state = 3
    RETURNING a.place, j.id, j.grp
), unheld AS (
    DELETE FROM held AS h USING done AS d WHERE h.session = %(session)s AND h.id = d.id
)
SELECT
    (SELECT coalesce(json_agg(json_build_array(a.place, CASE WHEN j.session = %(session)s AND j.starts = 1
        THEN 'a' ELSE 's' END)), '[]')
        FROM asked AS a LEFT JOIN done AS d USING (place) LEFT JOIN jobs AS j ON j.id = a.id WHERE d.place IS NULL),
    (SELECT coalesce(json_agg(json_build_array(grp, n)), '[]')
        FROM (SELECT grp, count(*) AS n FROM done WHERE grp IS NOT NULL GROUP BY grp) AS freed)"""

_FOLLOW: Final = """
WITH new AS MATERIALIZED (
    SELECT (v ->> 0)::uuid AS id, (v ->> 1)::bigint AS rank, nullif(v ->> 2, '') AS grp,
        nullif(v ->> 3, '') AS live_key, v ->> 4 AS body
    FROM jsonb_array_elements(%(jobs)s::jsonb) AS e (v)
), stored AS (
    INSERT INTO jobs SELECT id, %(queue)s, 2, NULL, 0, grp, live_key, body, NULL FROM new
)
INSERT INTO ready SELECT %(queue)s, rank, id FROM new"""

# A group is locked, in the order of names, so that nobody pushes a job behind a limit that is just being lifted.
# It is written only where a place stays free: one that went to the next job was never free.
_REFILL: Final = """
WITH freed AS MATERIALIZED (
    SELECT v ->> 0 AS grp, (v ->> 1)::int AS n FROM jsonb_array_elements(%(freed)s::jsonb) AS e (v)
), locked AS MATERIALIZED (
    SELECT g.grp, g.queue, f.n FROM groups AS g JOIN freed AS f USING (grp) ORDER BY g.grp FOR UPDATE OF g
), next AS MATERIALIZED (
    SELECT l.grp, l.queue, w.rank, w.id FROM locked AS l
    CROSS JOIN LATERAL (SELECT rank, id FROM waiting WHERE grp = l.grp ORDER BY rank, id LIMIT l.n) AS w
), unwaiting AS (
    DELETE FROM waiting AS w USING next AS x WHERE w.grp = x.grp AND w.rank = x.rank AND w.id = x.id
), moved AS (
    INSERT INTO ready SELECT queue, rank, id FROM next
), free AS (
    SELECT l.grp, l.n - count(x.id) AS n FROM locked AS l LEFT JOIN next AS x USING (grp) GROUP BY l.grp, l.n
)
UPDATE groups AS g SET taken = taken - f.n FROM free AS f WHERE g.grp = f.grp AND f.n > 0"""


class PostgresEngine:
    """A server of this machine; every commit is synchronous."""

    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._db = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        self._db.execute(_SCHEMA + _OTHERS)
        self._db.prepare_threshold = 0
        for setting in ("enable_seqscan = off", "plan_cache_mode = force_generic_plan", "jit = off"):
            self._db.execute(f"SET {setting}")
        self._pid = self._db.info.backend_pid
        number = self._db.info.server_version
        self.about = f"PostgreSQL {number // 10_000}.{number % 10_000}, psycopg {psycopg.__version__}"

    def fill(self, batch: Batch) -> None:
        with self._db.transaction():
            self._insert(batch.held, batch.queue, 3, SESSION, 1)
            self._insert(batch.waiting, batch.queue, 4, None, 0)
            ids = [job.id for job in batch.held]
            self._rows("INSERT INTO held SELECT %s, unnest(%s::uuid[])", SESSION, ids)
            self._rows(
                "INSERT INTO groups SELECT unnest(%s::text[]), %s, %s", _groups(batch), batch.queue, LIMIT
            )
            with self._db.cursor() as cursor:
                rows = [(job.group, job.rank, job.id) for job in batch.waiting]
                cursor.executemany("INSERT INTO waiting VALUES (%s, %s, %s)", rows)

    def settle(self, batch: Batch) -> str:
        ends = json.dumps([[job.id, RESULT] for job in batch.held])
        with self._db.transaction():
            missed, freed = self._rows(_END, {"ends": ends, "session": SESSION})[0]
            misses = dict(missed)
            verdicts = "".join(misses.get(place, "o") for place in range(1, len(batch.held) + 1))
            with self._db.pipeline():
                new = [
                    job for job, verdict in zip(batch.follow_ups, verdicts, strict=False) if verdict == "o"
                ]
                if new:
                    self._db.execute(_FOLLOW, {"jobs": _texts(new), "queue": batch.queue})
                if freed:
                    self._db.execute(_REFILL, {"freed": json.dumps(freed)})
        return verdicts

    def look(self, batch: Batch) -> Found:
        ids, groups = [job.id for job in batch.held], _groups(batch)
        mine = "FROM jobs WHERE id = ANY(%s::uuid[])"
        body = "SELECT replace(r.id::text, '-', ''), body FROM ready AS r JOIN jobs USING (id) WHERE r.queue = %s"
        ready = self._rows(body, batch.queue)
        return Found(
            ended=self._one(f"SELECT count(*) {mine} AND state = 10 AND result = %s", ids, RESULT),
            held=self._one(
                "SELECT count(*) FROM held WHERE session = %s AND id = ANY(%s::uuid[])", SESSION, ids
            ),
            ready=Counter(id for id, _ in ready),
            stored=sum(text == BODY for _, text in ready),
            keys=self._one(f"SELECT count(live_key) {mine}", ids),
            taken=dict(self._rows("SELECT grp, taken FROM groups WHERE grp = ANY(%s)", groups)),
            waiting=self._one("SELECT count(*) FROM waiting WHERE grp = ANY(%s)", groups),
        )

    def server_cpu(self) -> float:
        return processor_time(self._pid)

    def _insert(self, jobs: Sequence[Job], queue: str, state: int, session: str | None, starts: int) -> None:
        columns = "(v ->> 0)::uuid, %s, %s, %s, %s, nullif(v ->> 2, ''), nullif(v ->> 3, ''), v ->> 4, NULL"
        text = f"INSERT INTO jobs SELECT {columns} FROM jsonb_array_elements(%s::jsonb) AS e (v)"
        self._rows(text, queue, state, session, starts, _texts(jobs))

    def _rows(self, text: str, *values: Any) -> list[Any]:
        given = values[0] if values and isinstance(values[0], dict) else values
        cursor = self._db.execute(text.encode(), given)
        return cursor.fetchall() if cursor.description else []

    def _one(self, text: str, *values: Any) -> Any:
        return self._rows(text, *values)[0][0]


def _texts(jobs: Sequence[Job]) -> str:
    return json.dumps([[job.id, job.rank, job.group, job.unique, BODY] for job in jobs])


def _groups(batch: Batch) -> list[str]:
    return sorted({job.group for job in batch.held if job.group})
