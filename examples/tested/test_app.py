"""The tests of an application: each runs the real worker on the real store, and none takes a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from app import Bank, app, open_bank, pay
from orders import pack, remind

import noria.testing
from noria.testing import Trial


class FakeBank(Bank):
    """Charges once for each key, and may be closed for a while."""

    def __init__(self, closed_for: int = 0) -> None:
        self.closed_for = closed_for
        self.calls: list[str] = []
        self.charged: dict[str, int] = {}

    async def charge(self, order: str, cents: int, key: str) -> str:
        self.calls.append(order)
        if len(self.calls) <= self.closed_for:
            raise ConnectionError("the bank is closed")
        await asyncio.sleep(2)
        self.charged[key] = cents
        return f"receipt for {order}"


def play(bank: FakeBank, story: Callable[[Trial], Coroutine[Any, Any, None]]) -> None:
    """Run a story with a worker whose bank is this one."""

    async def run() -> None:
        async with noria.testing.run(app, overrides={open_bank: lambda: bank}) as t:
            await story(t)

    asyncio.run(run())


def test_a_paid_order_is_packed_at_once_and_reminded_of_in_a_week() -> None:
    async def story(t: Trial) -> None:
        job = await pay.options(correlation_id="visit 5").enqueue("A1", 999)
        await t.drain()
        assert await job == "receipt for A1"
        [packing], [reminder] = t.enqueued(pack), t.enqueued(remind, order="A1")
        assert (packing.queue, packing.correlation_id) == ("orders", "visit 5")
        assert timedelta(days=6) < reminder.due - t.now <= timedelta(days=7)
        await t.advance(7 * 86_400)
        assert (await app.job(reminder.job_id).status()).state == "succeeded"

    play(FakeBank(), story)


def test_a_bank_that_is_closed_is_tried_again_after_a_minute() -> None:
    bank = FakeBank(closed_for=1)

    async def story(t: Trial) -> None:
        job = await pay.enqueue("A1", 999)
        await t.drain()
        assert (await job.status()).state == "retrying"
        await t.advance(63)
        assert (await job.status()).state == "succeeded"

    play(bank, story)
    assert bank.calls == ["A1", "A1"]


def test_an_order_is_charged_once_though_the_worker_dies_in_the_middle() -> None:
    bank = FakeBank()

    async def story(t: Trial) -> None:
        job = await pay.enqueue("A1", 999)
        await t.started(job)
        await t.kill()
        assert await job == "receipt for A1"

    play(bank, story)
    assert (len(bank.calls), list(bank.charged.values())) == (2, [999])


def test_an_order_is_charged_once_though_it_is_delivered_twice() -> None:
    bank = FakeBank()

    async def story(t: Trial) -> None:
        job = await pay.enqueue("A1", 999)
        t.deliver_twice(job)
        await t.drain()

    play(bank, story)
    assert (len(bank.calls), list(bank.charged.values())) == (2, [999])
