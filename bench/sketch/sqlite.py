"""The settle on SQLite: set statements, each with one JSON text in and at most one row out, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from bench.sketch.work import BODY, LIMIT, RESULT, SESSION, Batch, Found, Job

_SCHEMA: Final = """
CREATE TABLE jobs(id BLOB PRIMARY KEY, queue TEXT, state INT, session TEXT, starts INT, grp TEXT, live_key TEXT,
    body TEXT, result TEXT) WITHOUT ROWID;
CREATE INDEX held ON jobs(session) WHERE state = 3;
CREATE UNIQUE INDEX live ON jobs(live_key) WHERE live_key IS NOT NULL;
CREATE TABLE ready(queue TEXT, rank INT, id BLOB, PRIMARY KEY(queue, rank, id)) WITHOUT ROWID;
CREATE TABLE waiting(grp TEXT, rank INT, id BLOB, PRIMARY KEY(grp, rank, id)) WITHOUT ROWID;
CREATE TABLE groups(grp TEXT PRIMARY KEY, queue TEXT, taken INT) WITHOUT ROWID;
"""

# Fences, and the groups of those that hold.
_LOOK: Final = """
SELECT json_group_array(json_array(CASE
    WHEN j.session IS NOT :session OR j.starts IS NOT 1 THEN 's' WHEN j.state <> 3 THEN 'a' ELSE 'o' END, j.grp))
FROM json_each(:ends) AS e LEFT JOIN jobs AS j ON j.id = unhex(e.value ->> 0)"""

_END: Final = """
UPDATE jobs SET state = 10, result = e.value ->> 1, live_key = NULL
FROM json_each(:ends) AS e WHERE jobs.id = unhex(e.value ->> 0)"""

_JOBS: Final = """
INSERT INTO jobs SELECT unhex(value ->> 0), :queue, :state, :session, :starts, nullif(value ->> 2, ''),
    nullif(value ->> 3, ''), value ->> 4, NULL FROM json_each(:jobs)"""

_READY: Final = "INSERT INTO ready SELECT :queue, value ->> 1, unhex(value ->> 0) FROM json_each(:jobs)"

# The first jobs of each group, as many as places were freed in it: a step along the index for each, however many wait.
_NEXT: Final = """
WITH RECURSIVE walk(grp, places, rank, id) AS (
    SELECT value ->> 0, value ->> 1, -9e18, x'' FROM json_each(:freed)
    UNION ALL
    SELECT w.grp, walk.places - 1, w.rank, w.id FROM walk CROSS JOIN waiting AS w ON w.grp = walk.grp
    AND (w.rank, w.id) = (
        SELECT rank, id FROM waiting WHERE grp = walk.grp AND (rank, id) > (walk.rank, walk.id)
        ORDER BY rank, id LIMIT 1)
    WHERE walk.places > 0
)
SELECT json_group_array(json_array(grp, rank, hex(id))) FROM walk WHERE id <> x''"""

_UNWAIT: Final = """
DELETE FROM waiting WHERE (grp, rank, id) IN
    (SELECT value ->> 0, value ->> 1, unhex(value ->> 2) FROM json_each(:moved))"""

_MOVE: Final = """
INSERT INTO ready SELECT g.queue, value ->> 1, unhex(value ->> 2)
FROM json_each(:moved) JOIN groups AS g ON g.grp = value ->> 0"""

# A place that went to the next job was never free: only groups that nobody waits in change.
_FREE: Final = """
UPDATE groups SET taken = taken - (e.value ->> 1) FROM json_each(:left) AS e WHERE groups.grp = e.value ->> 0"""


class SqliteEngine:
    """A file; WAL, synchronous=FULL."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self._db = apsw.Connection(str(folder / "sketch.db"))
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        self._db.execute(_SCHEMA)
        self.about = f"SQLite {apsw.sqlite_lib_version()}, WAL, synchronous=FULL"

    def fill(self, batch: Batch) -> None:
        with self._db:
            self._insert(batch.held, batch.queue, state=3, session=SESSION, starts=1)
            self._insert(batch.waiting, batch.queue, state=4)
            rows = json.dumps([[job.group, job.rank, job.id] for job in batch.waiting])
            self._run(
                "INSERT INTO waiting SELECT value ->> 0, value ->> 1, unhex(value ->> 2) FROM json_each(?)",
                rows,
            )
            groups = json.dumps(sorted({job.group for job in batch.held if job.group}))
            self._run("INSERT INTO groups SELECT value, ?, ? FROM json_each(?)", batch.queue, LIMIT, groups)

    def settle(self, batch: Batch) -> str:
        with self._db:
            found = self._rows(_LOOK, session=SESSION, ends=json.dumps([[job.id] for job in batch.held]))
            done = [at for at, (verdict, _) in enumerate(found) if verdict == "o"]
            self._run(_END, ends=json.dumps([[batch.held[at].id, RESULT] for at in done]))
            if batch.follow_ups and done:
                self._follow([batch.follow_ups[at] for at in done], batch.queue)
            if freed := Counter(found[at][1] for at in done if found[at][1]):
                self._refill(freed)
        return "".join(verdict for verdict, _ in found)

    def _follow(self, jobs: Sequence[Job], queue: str) -> None:
        self._insert(jobs, queue, state=2)
        self._run(_READY, queue=queue, jobs=json.dumps([[job.id, job.rank] for job in jobs]))

    def _refill(self, freed: Counter[str]) -> None:
        moved = self._rows(_NEXT, freed=json.dumps(list(freed.items())))
        text = json.dumps(moved)
        self._run(_UNWAIT, moved=text)
        self._run(_MOVE, moved=text)
        if left := freed - Counter(group for group, _, _ in moved):
            self._run(_FREE, left=json.dumps(list(left.items())))

    def look(self, batch: Batch) -> Found:
        ids = json.dumps([job.id for job in batch.held])
        mine = "FROM jobs WHERE id IN (SELECT unhex(value) FROM json_each(?))"
        ready = self._all(
            "SELECT hex(r.id), body FROM ready AS r JOIN jobs USING (id) WHERE r.queue = ?", batch.queue
        )
        groups = json.dumps(sorted({job.group for job in batch.held if job.group}))
        among = "grp IN (SELECT value FROM json_each(?))"
        return Found(
            ended=self._one(f"SELECT count(*) {mine} AND state = 10 AND result = ?", ids, RESULT),
            held=self._one(f"SELECT count(*) {mine} AND state = 3", ids),
            ready=Counter(id.lower() for id, _ in ready),
            stored=sum(body == BODY for _, body in ready),
            keys=self._one(f"SELECT count(live_key) {mine}", ids),
            taken=dict(self._all(f"SELECT grp, taken FROM groups WHERE {among}", groups)),
            waiting=self._one(f"SELECT count(*) FROM waiting WHERE {among}", groups),
        )

    def server_cpu(self) -> float:
        return 0.0

    def _insert(
        self, jobs: Sequence[Job], queue: str, *, state: int, session: str | None = None, starts: int = 0
    ) -> None:
        rows = json.dumps([[job.id, job.rank, job.group, job.unique, BODY] for job in jobs])
        self._run(_JOBS, queue=queue, state=state, session=session, starts=starts, jobs=rows)

    def _run(self, text: str, *values: Any, **named: Any) -> apsw.Cursor:
        return self._db.execute(text, named or values)

    def _all(self, text: str, *values: Any) -> list[Any]:
        return self._run(text, *values).fetchall()

    def _rows(self, text: str, **named: Any) -> list[Any]:
        rows: list[Any] = json.loads(self._one(text, **named))
        return rows

    def _one(self, text: str, *values: Any, **named: Any) -> Any:
        return self._run(text, *values, **named).fetchall()[0][0]
