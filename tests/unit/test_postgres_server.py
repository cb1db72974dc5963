"""What is asked of a server before it is used, and what changes when a pooler stands in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from noria.backends.contract import Parts, Verdict, Want, WorkerCard
from noria.backends.postgres import PostgresBackend, connection, link, wires
from noria.backends.postgres.backend import settings_of
from noria.backends.postgres.faults import Broken
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.wire import Wire
from noria.clock import Clock, SystemClock
from noria.errors import ConfigError
from noria.ids import IdSource
from noria.model.job import NewJob, Record
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.commands import until
from tests.support.postgres import SERVER, ask, namespace

CLOCK = SystemClock()
IDS = IdSource(CLOCK)


@pytest.fixture
def schema() -> Iterator[str]:
    with namespace() as name:
        yield name


def job(**fields: object) -> NewJob:
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", **fields)  # type: ignore[arg-type]  # each value has its field's type


@pytest.mark.parametrize(
    ("version", "encoding", "readonly", "words"),
    [
        (120_019, "UTF8", False, "the server is PostgreSQL 12, and 13 is the oldest"),
        (150_000, "SQL_ASCII", False, "createdb --encoding=UTF8"),
        (150_000, "UTF8", True, "name the primary in NORIA_URL"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_with_the_remedy(
    version: int, encoding: str, readonly: bool, words: str
) -> None:
    settings = settings_of("postgresql://h/shop", "noria")

    with pytest.raises(ConfigError, match=words):
        connection.check_server(settings, version, encoding, readonly)


def test_a_server_that_can_be_used_is_used() -> None:
    connection.check_server(
        settings_of("postgresql://h/shop", "noria"), connection.OLDEST_SERVER, "UTF8", False
    )


@pytest.fixture
def pooler(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a connection looks on which nothing may be kept."""
    straight = connection.open_wire

    def through(settings: Settings, clock: Clock) -> Wire:
        wire = straight(settings, clock)
        wire.prepares = False
        return wire

    monkeypatch.setattr(link, "open_wire", through)
    monkeypatch.setattr(wires, "open_wire", through)


@pytest.mark.usefixtures("pooler")
async def test_through_a_pooler_everything_works_and_whoever_waits_polls(schema: str) -> None:
    """B24."""
    one = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS, timeout=20.0, poll=0.2)
    other = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS, timeout=20.0)
    await one.start()
    await other.start()
    try:
        session = await one.open(WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",)))
        waiting = asyncio.ensure_future(one.lease(session, [Want("q", 1)], 1, 15.0))
        (receipt,) = await other.push([job()])
        (lease,) = (await waiting).leases
        end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
        verdicts = await one.settle(session, [end])
        (record,) = await other.get([receipt.id], Parts.RESULT)
    finally:
        await one.aclose()
        await other.aclose()

    assert verdicts == [Verdict.OK]
    assert record is not None
    assert (record.state, record.result) == (State.SUCCEEDED, b"1")


class Jumping(SystemClock):
    """A clock of this process that has not gone on as the server's did, as after a pause of the whole machine."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


@pytest.mark.parametrize("seconds", [3_600.0, -3_600.0])
async def test_the_servers_time_counts_however_the_clock_of_this_process_goes(
    schema: str, seconds: float
) -> None:
    clock = Jumping()
    backend = PostgresBackend(SERVER, namespace=schema, clock=clock, ids=IDS)
    await backend.start()
    try:
        before, after = job(), job()
        await backend.push([before])
        clock.ahead = seconds
        await backend.push([after])

        first, second = await backend.get([before.id, after.id])

        assert first is not None
        assert second is not None
        assert 0 <= second.created - first.created < 600
    finally:
        await backend.aclose()


_HEARS = """
    SELECT pid FROM pg_locks
    WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = hashtextextended(%s, 0)
"""


@asynccontextmanager
async def started(schema: str) -> AsyncIterator[PostgresBackend]:
    backend = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS, timeout=20.0)
    await backend.start()
    try:
        yield backend
    finally:
        await backend.aclose()


async def test_a_hint_that_the_server_refuses_is_lost_and_the_commit_that_it_went_with_is_not(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "pack", lambda namespace, sender, notes: '[["", "no channel"]]')
    backend = PostgresBackend(SERVER, namespace=schema, clock=CLOCK, ids=IDS)
    await backend.start()
    try:
        new = job()
        told = [(await backend.push([new]))[0].status for _ in range(2)]

        assert told == ["created", "existing"]
    finally:
        await backend.aclose()


async def outcome_unkept(one: PostgresBackend, other: PostgresBackend) -> Record | None:
    """The record of a job that is not kept, for which `other` waits, just after it succeeded at `one`."""
    session = await one.open(WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",)))
    (receipt,) = await other.push([job(keep=0.0, reply=other.reply_channel)])
    (lease,) = (await one.lease(session, [Want("q", 1)], 1, 15.0)).leases
    end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, result=b"1")
    await one.settle(session, [end])
    (record,) = await other.get([receipt.id], Parts.RESULT)
    return record


@pytest.mark.usefixtures("pooler")
async def test_behind_a_pooler_a_value_that_is_not_kept_stays_for_who_waits(schema: str) -> None:
    async with started(schema) as one, started(schema) as other:
        record = await outcome_unkept(one, other)

    assert record is not None
    assert (record.state, record.result) == (State.SUCCEEDED, b"1")


async def test_a_value_that_is_not_kept_stays_for_who_waits_while_that_one_hears_nothing(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: Settings, clock: Clock) -> Wire:
        raise Broken("it is not let in again")

    async with started(schema) as one, started(schema) as other:
        heard = await outcome_unkept(one, other)
        monkeypatch.setattr(wires, "open_wire", refuse)
        for process in ask(_HEARS, SERVER, other.reply_channel):
            ask("SELECT pg_terminate_backend(%s)", SERVER, process)
        until(lambda: not ask(_HEARS, SERVER, other.reply_channel))
        unheard = await outcome_unkept(one, other)

    assert heard is None
    assert unheard is not None
    assert unheard.result == b"1"


async def test_who_was_cut_off_hears_again_as_soon_as_it_is_connected(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new socket often has the number of the one that broke."""
    monkeypatch.setattr(wires, "PULSE", 1000.0)
    async with started(schema) as one, started(schema) as other:
        for _ in range(3):
            (process,) = ask(_HEARS, SERVER, other.reply_channel)
            ask("SELECT pg_terminate_backend(%s)", SERVER, process)
            while ask(_HEARS, SERVER, other.reply_channel) in ([], [process]):
                await asyncio.sleep(0.02)
            async with other.listen([other.reply_channel]) as hints:
                await one.notify(other.reply_channel, b"1")
                async with asyncio.timeout(20):
                    while (await anext(hints)).payload != b"1":
                        pass
