"""What the keeper's thread does for other workers while a job blocks the loop.

The loop is blocked for certain: the job itself does what the thread would do meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

from noria import Worker
from noria.backends.contract import Fence, Keeper, Verdict
from noria.errors import BackendError, Unavailable, Unknown
from noria.ids import Id, SessionId
from noria.model.outcome import Outcome
from noria.model.settlement import Settlement
from noria.model.state import State
from noria.worker.relief import Relief
from tests.support.workplace import HeldThreads, Workplace, in_virtual_time


class Blocking:
    """Tasks of which `block` has everything given back while no other can begin, and what has begun where."""

    def __init__(self, place: Workplace, keeper: Keeper | None = None) -> None:
        self.place = place
        self.keeper = keeper or place.store.control()
        self.worker: Worker | None = None
        self.began: Counter[int] = Counter()
        self.failures: list[BackendError] = []

        @place.app.task
        async def tiny(n: int) -> int:
            self.began[n] += 1
            return n

        @place.app.task
        def apart(n: int) -> int:
            self.began[n] += 1
            return n

        @place.app.task
        async def block() -> dict[int, int]:
            self.relieve()
            return dict(self.began)

        self.tiny, self.apart, self.block = tiny, apart, block

    async def hire(self, **settings: Any) -> Worker:
        self.worker = await self.place.hire(**settings)
        return self.worker

    def relieve(self) -> None:
        """What the thread does once the loop has stood still for half a second."""
        worker = self.worker
        assert worker is not None
        try:
            Relief(worker._loop, worker._feed, worker._settler, worker._crew.guarded).relieve(self.keeper)
        except BackendError as error:
            self.failures.append(error)


class Failing:
    """A keeper whose recall fails, before or after it was done."""

    def __init__(self, inner: Keeper, error: BackendError, *, done: bool) -> None:
        self._inner = inner
        self._error = error
        self._done = done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        if self._done:
            self._inner.recall(session, known, why)
        raise self._error


def now(work: Any) -> Any:
    """The value of a coroutine that never waits, from within a turn of the loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


@in_virtual_time
async def test_what_has_a_slot_and_has_not_begun_goes_back_and_never_begins_here() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        block, *jobs = await place.app.enqueue_many(
            [shop.block.job(), *(shop.tiny.job(n) for n in range(20))]
        )
        worker = await shop.hire(concurrency=100)

        before = await block.result(10)
        await asyncio.gather(*(job.result(30) for job in jobs))

        assert 0 < len(before) < 20
        assert shop.began == Counter(range(20))
        told = [await job.status() for job in jobs]
        assert [each.starts for each in told] == [1 if n in before else 2 for n in range(20)]
        given_back = next(each for each in told if each.starts == 2)
        error = given_back.log[0].error
        assert error is not None
        assert error.message.startswith("the event loop of the worker")
        assert (worker._runner.held, worker._runner.free["async"]) == ({}, 100)


@in_virtual_time
async def test_another_worker_has_what_waits_for_a_slot_while_the_loop_still_stands() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        other = await place.someone("tiny", "apart")
        threads = HeldThreads()
        worker = await shop.hire(concurrency=1, threads=1, pool=threads)
        await shop.apart.enqueue(0)
        await place.until(lambda: threads.held)

        jobs = await place.app.enqueue_many(
            [*(shop.tiny.job(n) for n in range(1, 4)), *(shop.apart.job(n) for n in range(4, 7))]
        )
        place.faulty.fail("lease", *["hang"] * 9)
        for lease in await place.take(worker._tenure.session):
            worker._feed._hold(lease)
        shop.relieve()
        taken = [lease.task for lease in now(place.take(other))]

        assert Counter(taken) == {"tiny": 3, "apart": 3}
        await asyncio.sleep(5)
        assert shop.began == Counter()
        assert worker._feed.buffered == 0
        assert not {job._id for job in jobs} & set(worker._runner.held)
        threads.end()


@in_virtual_time
async def test_outcomes_that_wait_are_recorded_once_and_heard_of() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        heard: list[bytes] = []
        seen: list[tuple[int, int]] = []

        @place.app.task
        async def block_and_look() -> None:
            shop.relieve()
            records = [record for record in now(place.store.get(ids)) if record is not None]
            seen.append((sum(record.state is State.SUCCEEDED for record in records), len(shop.began)))

        *jobs, last = await place.app.enqueue_many(
            [*(shop.tiny.job(n) for n in range(20)), block_and_look.job()]
        )
        ids = [job._id for job in jobs]
        worker = await shop.hire(concurrency=100, observer=lambda run, end: heard.append(end.id))
        await asyncio.gather(*(job.result(30) for job in (*jobs, last)))
        await asyncio.sleep(1)

        [(recorded, ended)] = seen
        assert 0 < recorded == ended < 20
        assert Counter(heard) == Counter([*ids, last._id])
        assert worker._settler.settled == 21
        assert worker._runner.held == {}


@pytest.mark.parametrize("error", [Unavailable("not done"), Unknown("perhaps done")])
def test_nothing_is_lost_and_nothing_begins_twice_if_giving_back_fails(error: BackendError) -> None:
    @in_virtual_time
    async def story() -> None:
        async with Workplace() as place:
            shop = Blocking(place)
            shop.keeper = Failing(shop.keeper, error, done=isinstance(error, Unknown))  # type: ignore[assignment]  # enough of one
            drafts = [shop.block.job(), *(shop.tiny.job(n) for n in range(20))]
            block, *jobs = await place.app.enqueue_many(drafts)
            worker = await shop.hire(concurrency=100)

            before = await block.result(10)
            await asyncio.gather(*(job.result(30) for job in jobs))

            assert shop.failures == [error]
            assert len(before) < 20
            assert shop.began == Counter(range(20))
            assert worker._runner.held == {}

    story()


@pytest.mark.parametrize("fails", [False, True])
def test_a_lease_whose_answer_is_on_its_way_is_given_back_and_starts_nothing(fails: bool) -> None:
    @in_virtual_time
    async def story() -> None:
        async with Workplace() as place:
            shop = Blocking(place)
            if fails:
                shop.keeper = Failing(shop.keeper, Unknown("perhaps"), done=True)  # type: ignore[assignment]  # enough of one
            jobs = await place.app.enqueue_many(shop.tiny.job(n) for n in range(5))
            place.faulty.fail("lease", *["late"] * 3)
            await shop.hire(concurrency=10)
            await place.until(lambda: place.faulty.done["lease"])

            shop.relieve()
            assert {(await job.status()).state for job in jobs} == {"queued"}
            await asyncio.gather(*(job.result(30) for job in jobs))

            assert shop.began == Counter(range(5))
            assert {(await job.status()).starts for job in jobs} == {2}

    story()


@in_virtual_time
async def test_a_worker_whose_jobs_block_its_loop_again_and_again_leases_few_at_a_time() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        jobs = await place.app.enqueue_many(shop.block.job() for _ in range(60))
        place.faulty.fail("lease", *["slow"] * 500)
        await shop.hire(concurrency=100)

        await asyncio.gather(*(job.result(600) for job in jobs))

        starts = [(await job.status()).starts for job in jobs]
        # How often the unluckiest one came in vain is up to the order of the lanes, and of the dice.
        assert max(starts) < 20, starts
        # The first lease brought them all; since then few came in vain.
        assert sum(starts) < 60 * 4


@in_virtual_time
async def test_a_worker_that_was_blocked_once_soon_fills_its_slots_again() -> None:
    async with Workplace() as place:
        shop = Blocking(place)

        @place.app.task
        async def long() -> None:
            await asyncio.sleep(1_000)

        await place.app.enqueue_many([shop.block.job(), *(long.job() for _ in range(100))])
        worker = await shop.hire(concurrency=100)

        await place.until(lambda: worker._runner.free["async"] == 0)


@in_virtual_time
async def test_a_suspect_that_was_given_back_lets_the_next_one_come() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        jobs = await place.app.enqueue_many(shop.tiny.options(crashes=9).job(n) for n in range(2))
        for _ in range(2):
            gone = await place.someone("tiny")
            await place.crash(gone, await place.take(gone))
        place.faulty.fail("lease", *["hang"] * 3)
        worker = await shop.hire(concurrency=10)
        for lease in await place.take(worker._tenure.session):
            worker._feed._hold(lease)
        assert not worker._feed.may_invite

        shop.relieve()
        await asyncio.sleep(0.01)

        assert worker._feed.may_invite
        assert {(await job.status()).state for job in jobs} == {"queued"}


@in_virtual_time
async def test_a_worker_that_has_nothing_to_give_back_asks_the_store_for_nothing() -> None:
    async with Workplace() as place:
        calls: list[str] = []
        shop = Blocking(place)
        worker = await shop.hire()
        worker._feed._calls = 0

        class Deaf:
            def __getattr__(self, name: str) -> Any:
                calls.append(name)

        shop.keeper = Deaf()  # type: ignore[assignment]  # nobody calls it
        shop.relieve()

        assert calls == []


@in_virtual_time
async def test_what_another_session_was_told_is_not_taken_for_ours() -> None:
    async with Workplace() as place:
        shop = Blocking(place)
        settler = (await shop.hire())._settler
        end = Settlement(Id(bytes(16)), 1, Outcome.SUCCEEDED, State.SUCCEEDED)

        settler.told(SessionId(99), [end], [Verdict.STALE])

        assert settler._hear(settler._session, [end]) == [end]
