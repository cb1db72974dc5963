"""The shell around the engine's thread: what gathers, what is unknown, what is withdrawn, what is never lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from noria.backends.bus import Note
from noria.backends.contract import Batch
from noria.backends.sql.call import Call
from noria.backends.sql.engine import Engine
from noria.backends.sql.push import Push
from noria.backends.sql.tallies import Count
from noria.backends.sql.thread import ThreadDesk
from noria.backends.sqlite.lease import Haul, Take
from noria.backends.sqlite.settings import Settings
from noria.errors import ConfigError, Unavailable, Unknown
from noria.ids import Id, SessionId
from noria.model.job import Lease
from noria.model.outcome import Tally

BOUND = 20.0
"""Seconds that nothing here takes; a limit for what should not wait at all."""


class StubEngine:
    """An engine that answers when it is let, and with what it is told."""

    def __init__(self) -> None:
        self.settings = Settings(path="noria.db", runtime=Path("unused"))
        self.groups: list[list[Call]] = []
        self.busy = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.reply: Any = "done"
        self.fault: Exception | None = None
        self.closed = threading.Event()

    def open(self) -> None:
        if self.fault is not None:
            raise self.fault

    def close(self) -> None:
        self.closed.set()

    def commit(self, calls: Sequence[Call]) -> list[Any]:
        self.groups.append(list(calls))
        self.busy.release()
        assert self.go.acquire(timeout=BOUND)
        return [self.reply] * len(calls)

    def land(self, calls: Sequence[Call], replies: list[Any]) -> list[Any]:
        return replies

    def take_notes(self) -> list[Note]:
        return [("queue:mail", b"")]

    async def taken_up(self) -> None:
        """Wait until the engine has taken up a group of calls."""
        assert await asyncio.to_thread(self.busy.acquire, timeout=BOUND)


class Desk:
    """A desk with its engine, and what came out of it."""

    def __init__(self) -> None:
        self.engine = StubEngine()
        self.published: list[Note] = []
        self.sent: list[Note] = []
        self.unheard: list[Batch] = []
        self.desk = ThreadDesk(
            cast("Engine", self.engine),
            "test",
            publish=self.published.extend,
            send=self.sent.extend,
            unheard=lambda call, batch: self.unheard.append(batch),
        )

    def ask(self, call: Call, timeout: float = BOUND) -> asyncio.Task[Any]:
        return asyncio.ensure_future(self.desk.ask(call, timeout))


@asynccontextmanager
async def opened() -> AsyncIterator[Desk]:
    desk = Desk()
    await desk.desk.open(BOUND)
    yield desk
    desk.engine.go.release(1_000)
    await desk.desk.aclose(BOUND)
    assert desk.engine.closed.is_set()


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with opened() as desk:
        yield desk


def leases() -> Haul:
    lease = Lease(id=Id(b"i" * 16), starts=1, task="t", queue="q", body=b"", codec="json", tally=Tally())
    return Haul(Batch([lease]), all=True)


def take() -> Take:
    return Take(SessionId(1), [], 5)


async def settled(*tasks: asyncio.Task[Any]) -> list[Any]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_calls_gather_while_the_engine_is_busy(desk: Desk) -> None:
    first = desk.ask(Push([]))
    await desk.engine.taken_up()
    later = [desk.ask(Push([])) for _ in range(5)]
    await asyncio.sleep(0)

    desk.engine.go.release(2)

    assert await settled(first, *later) == ["done"] * 6
    assert [len(group) for group in desk.engine.groups] == [1, 5]


async def test_hints_go_to_this_process_and_to_others(desk: Desk) -> None:
    desk.engine.go.release()

    await desk.ask(Push([]))
    await desk.desk.aclose(BOUND)

    assert desk.published == desk.sent == [("queue:mail", b"")]


async def test_a_reply_that_is_an_exception_is_raised(desk: Desk) -> None:
    desk.engine.reply = ConfigError("no")
    desk.engine.go.release()

    assert await settled(desk.ask(Push([]))) == [desk.engine.reply]


async def test_a_call_that_was_not_taken_up_in_time_is_certainly_not_done(desk: Desk) -> None:
    first = desk.ask(Push([]))
    await desk.engine.taken_up()

    (late,) = await settled(desk.ask(Push([]), 0.01))
    desk.engine.go.release(2)
    await first

    assert isinstance(late, Unavailable)
    assert "not taken up" in str(late)
    assert [len(group) for group in desk.engine.groups] == [1]


@pytest.mark.parametrize(
    ("call", "kind"), [(Push([]), Unknown), (Count(), Unavailable)], ids=["write", "read"]
)
async def test_a_call_that_was_taken_up_may_be_done_later(
    desk: Desk, call: Call, kind: type[Exception]
) -> None:
    late = desk.ask(call, 0.05)
    await desk.engine.taken_up()

    (answer,) = await settled(late)
    desk.engine.go.release()

    assert type(answer) is kind


async def test_a_cancelled_call_is_withdrawn_if_it_still_can_be(desk: Desk) -> None:
    first = desk.ask(Push([]))
    await desk.engine.taken_up()
    second = desk.ask(Push([]))
    await asyncio.sleep(0)

    second.cancel()
    await settled(second)
    desk.engine.go.release(2)
    await first

    assert [len(group) for group in desk.engine.groups] == [1]


async def test_leases_that_come_too_late_are_not_lost(desk: Desk) -> None:
    """L3. The worker was cancelled while the engine was at it."""
    desk.engine.reply = leases()
    cancelled = desk.ask(take())
    await desk.engine.taken_up()

    cancelled.cancel()
    await settled(cancelled)
    desk.engine.go.release(2)
    await desk.ask(Push([]))

    assert desk.unheard == [desk.engine.reply.batch]


async def test_leases_that_come_in_the_very_turn_of_the_cancellation_are_not_lost(desk: Desk) -> None:
    """A4. The reply is there, its caller has not run yet, and is cancelled."""
    desk.engine.reply = leases()
    cancelled = desk.ask(take())
    await desk.engine.taken_up()
    deliver = desk.desk._deliver

    def deliver_and_cancel(*args: Any) -> None:
        deliver(*args)
        cancelled.cancel()

    desk.desk._deliver = deliver_and_cancel  # type: ignore[method-assign]  # the loop's turn, as it may fall
    desk.engine.go.release()
    (answer,) = await settled(cancelled)

    assert isinstance(answer, asyncio.CancelledError)
    assert desk.unheard == [desk.engine.reply.batch]


async def test_closing_turns_away_what_waits_and_finishes_what_runs(desk: Desk) -> None:
    running = desk.ask(Push([]))
    await desk.engine.taken_up()
    waiting = desk.ask(Push([]))
    await asyncio.sleep(0)

    closing = asyncio.ensure_future(desk.desk.aclose(BOUND))
    (turned_away,) = await settled(waiting)
    desk.engine.go.release()

    assert await settled(running, closing) == ["done", None]
    assert isinstance(turned_away, Unavailable)
    assert isinstance((await settled(desk.ask(Push([]))))[0], Unavailable)


async def test_closing_is_bounded(desk: Desk) -> None:
    running = desk.ask(Push([]))
    await desk.engine.taken_up()

    await desk.desk.aclose(0.05)

    desk.engine.go.release()
    assert await running == "done"


async def test_a_store_that_cannot_be_opened_says_so() -> None:
    desk = Desk()
    desk.engine.fault = ConfigError("it is not ours")

    with pytest.raises(ConfigError, match="not ours"):
        await desk.desk.open(BOUND)

    assert isinstance((await settled(desk.ask(Push([]))))[0], Unavailable)
