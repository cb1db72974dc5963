"""What a worker makes of leases that reach it in odd ways."""

from __future__ import annotations

import asyncio

from noria import chain
from noria.backends.contract import Batch
from noria.model.job import Lane
from tests.support.workplace import Workplace, in_virtual_time


@in_virtual_time
async def test_a_start_that_a_crashed_server_gives_out_again_goes_on_and_is_not_begun_twice() -> None:
    async with Workplace() as place:
        began, gate = [], asyncio.Event()

        @place.app.task
        async def held() -> str:
            began.append(1)
            await gate.wait()
            return "done"

        worker = await place.hire()
        job = await held.enqueue()
        await place.until(lambda: began)
        (run,) = worker._runner.held.values()

        worker._feed.arrived(Lane.LOOP, worker._tenure.session, Batch([run.lease]))
        await asyncio.sleep(1)
        gate.set()

        assert await job.result(10) == "done"
        assert began == [1]
        assert (await job.status()).starts == 1


@in_virtual_time
async def test_after_a_start_was_given_out_again_the_worker_asks_what_its_session_holds() -> None:
    """Its settle may have been refused just before: then nobody here would run it, or give it back."""
    async with Workplace() as place:
        began, gate = [], asyncio.Event()

        @place.app.task
        async def held() -> None:
            began.append(1)
            await gate.wait()

        worker = await place.hire(concurrency=2)
        await held.enqueue()
        await place.until(lambda: began)
        (run,) = worker._runner.held.values()
        before = place.faulty.done["recall"]

        worker._feed.arrived(Lane.LOOP, worker._tenure.session, Batch([run.lease]))
        await held.enqueue()
        await place.until(lambda: len(began) == 2)
        gate.set()

        await place.until(lambda: place.faulty.done["recall"] > before)


@in_virtual_time
async def test_what_is_leased_and_waits_for_its_values_is_not_given_back_as_unheard_of() -> None:
    """Another lane's lease fails meanwhile, so that the worker gives back whatever it does not know of."""
    async with Workplace() as place:
        began: list[int] = []

        @place.app.task
        async def first() -> int:
            return 1

        @place.app.task
        async def second(value: int) -> int:
            began.append(value)
            return value + 1

        worker = await place.hire(poll=0.1)
        place.faulty.fail("get", "late")
        job = await chain(first.job(), second).enqueue()
        await place.until(lambda: place.faulty.done["get"])
        worker._feed.unheard()
        worker._feed.wake()

        assert await job.result(10) == 2
        assert began == [1]
        assert (await job.status()).starts == 1
