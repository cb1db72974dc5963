"""A store that an older release has made goes on working: what it holds is read, leased, changed and counted."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from noria.backends.contract import Change, DocWrite, Parts, Pause, Query, QueueRef, Want, WorkerCard
from noria.backends.sqlite import SqliteBackend
from noria.backends.sqlite.statements import migrations
from noria.ids import IdSource
from noria.model.state import State
from tests.support.manual import ManualClock

OLD = Path(__file__).parents[1] / "support" / "schema_1.sql"
CARD = WorkerCard(worker="new", host="h", pid=2, tasks=("send", "rare"), queues=("mail", "other"))
STATES = {
    "mail": {
        State.QUEUED: 1,
        State.SCHEDULED: 1,
        State.RUNNING: 1,
        State.RETRYING: 1,
        State.PARKED: 1,
        State.SUCCEEDED: 1,
        State.FAILED: 3,
        State.CANCELLED: 1,
    },
    "other": {State.QUEUED: 1},
}


@pytest.fixture
async def backend(tmp_path: Path) -> SqliteBackend:
    path = tmp_path / "noria.db"
    connection = apsw.Connection(str(path))
    connection.execute(OLD.read_text())
    assert connection.pragma("user_version") == 1
    connection.close()
    clock = ManualClock()
    clock.jump(1_790_000_020 - clock.wall())
    backend = SqliteBackend(path, runtime=tmp_path, clock=clock, ids=IdSource(clock), inline=True)
    await backend.start()
    return backend


async def test_it_is_brought_up_to_date(backend: SqliteBackend, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "noria.db"))

    assert connection.pragma("user_version") == max(migrations())
    assert connection.pragma("integrity_check") == "ok"


async def test_what_it_holds_is_counted_and_read(backend: SqliteBackend) -> None:
    counts = await backend.counts()
    page = await backend.find(Query())
    records = await backend.get([each.id for each in page.records], Parts.ALL)

    assert {name: queue.states for name, queue in counts.queues.items()} == STATES
    assert (counts.queues["mail"].dead, counts.erased) == (3, 1)
    assert len(records) == sum(sum(states.values()) for states in STATES.values())
    assert all(record is not None and record.body for record in records)


async def test_its_jobs_are_found_by_what_is_indexed_now(backend: SqliteBackend) -> None:
    correlated = await backend.find(Query(correlation_id="order-1"))
    dead = await backend.find(Query(dead=True))

    assert [record.extras.tags for record in correlated.records] == [("vip",)]
    assert len(dead.records) == 3


async def test_its_jobs_are_leased_and_changed(backend: SqliteBackend) -> None:
    session = await backend.open(CARD)
    await backend.steer(QueueRef("other"), Pause())
    batch = await backend.lease(session, [Want("mail", 9), Want("other", 9)], 9, 0.0)
    dead = await backend.find(Query(dead=True))
    told = await backend.alter([record.id for record in dead.records], Change(kind="retry"))

    assert len(batch.leases) == 2, "the queued and the parked one"
    assert {each.status for each in told} == {"done"}
    await backend.write([DocWrite("k", "n", b"")])


async def test_its_session_lives_on(backend: SqliteBackend) -> None:
    (overdue,) = await backend.overdue()

    ended = await backend.end(overdue.session, if_beat=overdue.beat, started=())

    assert (ended.first, ended.released) == (True, 1)
