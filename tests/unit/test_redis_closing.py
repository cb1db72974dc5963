"""Closing a group of which very many jobs could run: Redis does so in portions, and starts none of them in between."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from noria.backends.contract import Close, Open, Verdict, Want, WorkerCard
from noria.backends.redis import RedisBackend, grouped
from noria.clock import SystemClock
from noria.ids import IdSource, SessionId
from noria.model.groups import Grouped, GroupRef, Rule
from noria.model.job import Lease, NewJob
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from tests.support.manual import ManualClock
from tests.support.redis import drop_namespace, fresh_namespace, server

IDS = IdSource(SystemClock())
CARD = WorkerCard(worker="w", host="h", pid=1, tasks=("t",), queues=("q",))
HOST = GroupRef("host", "a")
MANY = 2_500
ANY = Rule(fair=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def backend(clock: ManualClock) -> AsyncIterator[RedisBackend]:
    name = fresh_namespace()
    backend = RedisBackend(server(name), clock=clock, ids=IDS, server_time=False)
    await backend.start()
    yield backend
    await backend.aclose()
    drop_namespace(name)


@pytest.fixture
def halfway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever closes a group dies after the first portion."""
    monkeypatch.setattr(grouped, "_PORTIONS", 0)


def job(key: str | None = None) -> NewJob:
    group = None if key is None else Grouped(GroupRef("host", key), ANY)
    return NewJob(id=IDS.next(), task="t", queue="q", body=b"[]", group=group)


async def states(backend: RedisBackend) -> dict[State, int]:
    found = (await backend.counts()).queues["q"].states
    return {state: n for state, n in found.items() if n}


async def take(backend: RedisBackend, session: SessionId, n: int = 100) -> list[Lease]:
    return (await backend.lease(session, [Want("q", n)], n, 0.0)).leases


async def taken(backend: RedisBackend, session: SessionId) -> int:
    """How many jobs can be leased, one batch after the other."""
    n = 0
    while leases := await take(backend, session, 1_000):
        n += len(leases)
    return n


async def swept(backend: RedisBackend) -> int:
    n = 1
    while (await backend.sweep(1_000)).more:
        n += 1
    return n


async def crowd(backend: RedisBackend) -> None:
    """Let many jobs of one group have places."""
    await backend.push([job("a") for _ in range(MANY)])
    await swept(backend)
    assert await states(backend) == {State.QUEUED: MANY}


async def test_a_close_puts_all_jobs_back_in_line(backend: RedisBackend) -> None:
    await crowd(backend)

    await backend.steer(HOST, Close())

    assert await states(backend) == {State.WAITING: MANY}
    assert await taken(backend, await backend.open(CARD)) == 0


@pytest.mark.usefixtures("halfway")
async def test_one_step_of_it_moves_a_thousand_jobs(backend: RedisBackend) -> None:
    await crowd(backend)

    closed = await backend.steer(HOST, Close())

    assert closed.closed is not None
    assert await states(backend) == {State.WAITING: 1_000, State.QUEUED: MANY - 1_000}


@pytest.mark.usefixtures("halfway")
async def test_no_job_of_a_group_that_is_closing_starts_and_others_do(backend: RedisBackend) -> None:
    await crowd(backend)
    others = [job("b"), job()]
    await backend.push(others)
    session = await backend.open(CARD)
    await backend.steer(HOST, Close())

    leases = [lease for _ in range(4) for lease in await take(backend, session)]

    assert {lease.id for lease in leases} == {each.id for each in others}
    assert await states(backend) == {State.WAITING: MANY, State.RUNNING: 2}


@pytest.mark.usefixtures("halfway")
async def test_sweeps_go_on_with_it(backend: RedisBackend) -> None:
    await crowd(backend)
    await backend.steer(HOST, Close())

    assert await swept(backend) <= 3
    assert await states(backend) == {State.WAITING: MANY}


@pytest.mark.parametrize("way", ["opened", "over"])
@pytest.mark.usefixtures("halfway")
async def test_a_group_that_opens_before_it_was_closed_in_full_runs_all_of_its_jobs(
    backend: RedisBackend, clock: ManualClock, way: str
) -> None:
    await crowd(backend)
    await backend.steer(HOST, Close(until=clock.wall() + 60))
    if way == "opened":
        await backend.steer(HOST, Open())
    else:
        clock.advance(61)
    await swept(backend)

    assert await taken(backend, await backend.open(CARD)) == MANY


async def test_a_job_that_closes_its_group_leaves_the_rest_to_leases_and_sweeps(
    backend: RedisBackend, clock: ManualClock
) -> None:
    await crowd(backend)
    session = await backend.open(CARD)
    [lease] = await take(backend, session, 1)
    until = clock.wall() + 60
    end = Settlement(lease.id, lease.starts, Outcome.SUCCEEDED, State.SUCCEEDED, close=until)

    assert await backend.settle(session, [end]) == [Verdict.OK]
    before = await states(backend)
    assert await taken(backend, session) == 0
    await swept(backend)

    assert before == {State.SUCCEEDED: 1, State.WAITING: 1_000, State.QUEUED: MANY - 1_001}
    assert await states(backend) == {State.SUCCEEDED: 1, State.WAITING: MANY - 1}
    clock.advance(61)
    await swept(backend)
    assert await taken(backend, session) == MANY - 1
