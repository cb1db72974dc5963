"""When a lease looks at the store again: what the last look has left decides, and what was heard since."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noria.backends.bells import MOST, Bell, Bells
from noria.backends.bus import Bus
from noria.backends.contract import Batch, Want
from noria.backends.sqlite import SqliteBackend
from noria.backends.sqlite.lease import Take
from noria.clock import SystemClock
from noria.ids import IdSource, SessionId
from noria.model.job import Lane, NewJob
from tests.support.sqlite import CARD, QUEUE, Bench

BOUND = 20.0
"""Seconds that nothing here takes."""


class Watched:
    """A backend, its session, and how often leases have looked at the store."""

    def __init__(self, backend: SqliteBackend, session: SessionId, looks: list[Bell]) -> None:
        self.backend = backend
        self.session = session
        self.looks = looks
        self._ids = IdSource(SystemClock())

    async def push(self, n: int = 1, **fields: Any) -> None:
        jobs = [NewJob(id=self._ids.next(), task="t", queue=QUEUE, body=b"[]", **fields) for _ in range(n)]
        await self.backend.push(jobs)

    async def lease(self, n: int = 10, *, wait: float = BOUND, lane: Lane = Lane.LOOP) -> Batch:
        async with asyncio.timeout(BOUND * 2):
            return await self.backend.lease(self.session, [Want(QUEUE, n, lane=lane)], n, wait)

    async def looking(self, n: int) -> None:
        """Wait until so many looks were begun."""
        async with asyncio.timeout(BOUND):
            while len(self.looks) < n:
                await asyncio.sleep(0.001)


async def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, poll: float) -> Watched:
    clock = SystemClock()
    backend = SqliteBackend(
        folder / "noria.db", runtime=folder / "run", clock=clock, ids=IdSource(clock), poll=poll
    )
    await backend.start()
    looks: list[Bell] = []
    look = Bell.look

    def counted(self: Bell) -> None:
        looks.append(self)
        look(self)

    monkeypatch.setattr(Bell, "look", counted)
    return Watched(backend, await backend.open(CARD), looks)


@pytest.fixture
async def watched(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    """Its poll never comes."""
    watched = await opened(short_tmp, monkeypatch, poll=3_600.0)
    yield watched
    await watched.backend.aclose()


async def test_after_a_lease_that_took_everything_the_next_waits_without_looking(watched: Watched) -> None:
    await watched.push()
    await watched.lease()
    waiting = asyncio.ensure_future(watched.lease())
    await asyncio.sleep(0)
    await watched.backend.counts()
    assert len(watched.looks) == 1

    await watched.push()

    assert len((await waiting).leases) == 1


async def test_after_a_lease_that_left_something_the_next_looks_at_once(watched: Watched) -> None:
    await watched.push(3)
    await watched.lease(2)

    rest = await watched.lease(2)

    assert len(rest.leases) == 1


async def test_what_comes_between_two_leases_is_not_overlooked(watched: Watched) -> None:
    await watched.push()
    await watched.lease()
    await watched.push()

    batch = await watched.lease()

    assert len(batch.leases) == 1


async def test_who_does_not_want_to_wait_looks_whatever_is_known(watched: Watched) -> None:
    await watched.push()
    await watched.lease()

    batch = await watched.lease(wait=0)

    assert (batch.leases, len(watched.looks)) == ([], 2)


async def test_work_of_one_lane_does_not_wake_the_lease_of_another(watched: Watched) -> None:
    waiting = asyncio.ensure_future(watched.lease(lane=Lane.THREAD))
    await watched.looking(1)

    await watched.push(lane=Lane.LOOP)
    await watched.push(lane=Lane.THREAD)

    assert len((await waiting).leases) == 1
    assert len(watched.looks) == 2


async def test_work_of_no_named_lane_wakes_every_lease(watched: Watched) -> None:
    waiting = [asyncio.ensure_future(watched.lease(lane=lane)) for lane in Lane]
    await watched.looking(len(waiting))

    await watched.backend.notify(f"queue:{QUEUE}")

    await watched.looking(2 * len(waiting))
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_lost_hint_costs_one_poll(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = await opened(short_tmp, monkeypatch, poll=0.05)
    monkeypatch.setattr(Bus, "publish", lambda self, notes: None)
    await watched.push()
    await watched.lease()
    await watched.push()

    batch = await watched.lease()

    assert len(batch.leases) == 1
    await watched.backend.aclose()


async def test_a_job_that_becomes_due_needs_no_hint(watched: Watched) -> None:
    await watched.push()
    await watched.push(delay=0.05)
    await watched.lease()

    batch = await watched.lease()

    assert len(batch.leases) == 1


def test_a_suspect_may_hide_others_so_that_a_lease_of_it_was_not_all() -> None:
    bench = Bench()
    session = bench.open()
    bench.push(bench.job(), bench.job())
    bench.engine._link.write(lambda work: work._connection.execute("UPDATE jobs SET crashes = 2"))

    haul = bench.ask(Take(session, [Want(QUEUE, 5, suspect=True)], 5))

    assert (len(haul.batch.leases), haul.batch.suspects, haul.all) == (1, True, False)


def test_a_lease_that_got_as_much_as_it_asked_for_may_have_left_something() -> None:
    bench = Bench()
    session = bench.open()
    bench.push(bench.job(), bench.job())

    haul = bench.ask(Take(session, [Want(QUEUE, 2)], 2))

    assert (len(haul.batch.leases), haul.all) == (2, False)


def test_bells_of_sessions_long_gone_are_given_up() -> None:
    bus = Bus()
    bells = Bells(bus)

    for session in range(MOST * 2):
        bells.of(SessionId(session), [Want(QUEUE, 1)])

    assert len(bus._listeners[f"queue:{QUEUE}"]) == MOST


def test_nothing_is_heard_any_more_when_they_are_closed() -> None:
    bus = Bus()
    bells = Bells(bus)
    bells.of(SessionId(1), [Want(QUEUE, 1)])

    bells.close()

    assert bus._listeners == {}
