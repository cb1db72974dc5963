"""A worker does as it is told: it rests and stays, it goes on, it stops; and says how it is."""

from __future__ import annotations

import asyncio

from noria.backends.contract import Member
from noria.model.state import State
from noria.worker.worker import Exit
from tests.support.workplace import Workplace, in_virtual_time


async def member(place: Workplace) -> Member:
    (found,) = await place.store.fleet()
    return found


@in_virtual_time
async def test_a_quiet_worker_finishes_and_leases_nothing_and_stays() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None:
            await asyncio.sleep(3)

        await place.hire(concurrency=2)
        await place.app.enqueue_many(work.job() for _ in range(5))
        await asyncio.sleep(1)
        await place.store.command((await member(place)).session, "quiet")
        await asyncio.sleep(30)

        counts = await place.store.counts()
        assert counts.queues["default"].states == {State.SUCCEEDED: 2, State.QUEUED: 3}
        assert (await member(place)).vitals.state == "quiet"


@in_virtual_time
async def test_a_quiet_worker_gives_back_what_it_held_ready() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None:
            await asyncio.sleep(60)

        worker = await place.hire(concurrency=1)
        await work.enqueue()
        await place.until(lambda: worker._runner.held)
        job = await work.enqueue()
        (lease,) = await place.take(worker._tenure.session)
        worker._feed._hold(lease)
        assert worker._feed.buffered == 1

        worker._feed.rest(True)
        await asyncio.sleep(0.1)

        status = await job.status()
        assert (worker._feed.buffered, status.state, status.attempt) == (0, "queued", 1)


@in_virtual_time
async def test_a_worker_that_is_told_to_go_on_goes_on_at_once() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        await place.hire()
        session = (await member(place)).session
        await place.store.command(session, "quiet")
        await asyncio.sleep(10)
        jobs = await place.app.enqueue_many([work.job()])
        await asyncio.sleep(10)
        assert (await jobs[0].status()).state == "queued"

        await place.store.command(session, "resume")
        began = place.loop.time()
        await jobs[0].result(timeout=10)

        assert place.loop.time() - began < 2
        assert (await member(place)).vitals.state in ("active", "quiet")
        await asyncio.sleep(5)
        assert (await member(place)).vitals.state == "active"


@in_virtual_time
async def test_a_worker_that_is_told_to_stop_drains() -> None:
    """As by a signal: what runs is finished, although the order is repeated meanwhile."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            await asyncio.sleep(20)
            return 5

        worker = await place.hire(grace=60)
        (job,) = await place.app.enqueue_many([work.job()])
        await asyncio.sleep(1)
        await place.store.command((await member(place)).session, "stop")
        await asyncio.sleep(10)
        assert (await member(place)).vitals.state == "stopping"

        assert await place.outcome(worker) is Exit.CLEAN
        assert await job.result(timeout=1) == 5
        assert await place.store.fleet() == []


@in_virtual_time
async def test_a_worker_says_what_is_busy() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None:
            await asyncio.sleep(60)

        outside = {"version": "1.2.3", "load": lambda: 0.75}
        await place.hire(concurrency=3, threads=1, outside=outside)
        await place.app.enqueue_many(work.job() for _ in range(2))
        await asyncio.sleep(5)

        shown = await member(place)
        assert (shown.vitals.busy, shown.card.sizes) == ({"async": 2, "thread": 0}, {"async": 3, "thread": 1})
        assert (shown.vitals.load, shown.card.version, shown.held) == (0.75, "1.2.3", 2)
