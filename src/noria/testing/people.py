"""Producers and operators of a simulation: who enqueues jobs, and who interferes, each as the contract allows.

They ask again with the same ids when a call fails, or takes longer than they can wait.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from noria import aio
from noria.app.timerbook import TimerBook
from noria.backends.contract import Change, DocWrite, Parts, Pause, QueueRef, Resume
from noria.errors import BackendError, Conflict, ScheduleNotFound
from noria.ids import Id, IdSource
from noria.model.job import NewJob
from noria.testing.machine import VirtualClock
from noria.testing.scenario import QUEUES, Options, edit, new_job, slot

T = TypeVar("T")

_TRIES: Final = 8
"""How often a call is made until its caller gives up."""


class Person:
    """Somebody who makes calls and insists on an answer.

    Args:
        backend: started.
        dice: what happens.
        asked: ids of all jobs that anybody has asked for so far; shared.
    """

    def __init__(
        self, backend: Any, options: Options, clock: VirtualClock, dice: random.Random, asked: list[Id]
    ) -> None:
        self._backend = backend
        self._options = options
        self._clock = clock
        self._dice = dice
        self._asked = asked

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Make a call until it is answered; None if it never was, so that nobody knows whether it was done."""
        for _ in range(_TRIES):
            try:
                async with aio.bounded(self._options.patience):
                    return await call()
            except (BackendError, TimeoutError):
                await aio.sleep(self._dice.random() * 0.5)
        return None


class Producer(Person):
    """Enqueues jobs, some along with a document that lets only one of them through."""

    async def run(self, ids: IdSource, jobs: int) -> None:
        """Enqueue that many jobs."""
        while jobs > 0:
            await aio.sleep(self._dice.random() * self._options.span / self._options.jobs)
            batch = self._draw(ids, min(jobs, self._dice.choice((1, 1, 1, 3))))
            await self._enqueue(batch, slot(batch[0].id, self._dice))
            jobs -= len(batch)
            if self._dice.random() < 0.3:
                await self._look()

    def _draw(self, ids: IdSource, count: int) -> list[NewJob]:
        now = self._clock.wall()
        jobs = [new_job(ids.next(), self._dice, self._options, now) for _ in range(count)]
        self._asked += [job.id for job in jobs]
        return jobs

    async def _enqueue(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite]) -> None:
        try:
            await self._insist(lambda: self._backend.push(jobs, docs))
        except Conflict:
            # Somebody else has the slot, or it was written by the call that nobody answered.
            await self._insist(lambda: self._backend.read(docs[0].kind, [doc.name for doc in docs]))
            return
        if not docs and self._dice.random() < 0.1:
            await self._insist(lambda: self._backend.push(jobs))

    async def _look(self) -> None:
        """Read some jobs, whoever enqueued them."""
        some = self._dice.sample(self._asked, min(3, len(self._asked)))
        await self._insist(lambda: self._backend.get(some, Parts.RESULT))


class Operator(Person):
    """Cancels, retries, edits, and pauses queues and timers."""

    async def run(self) -> None:
        """Do what the options say, spread over their span."""
        options = self._options
        deeds = ["cancel"] * options.cancels + ["retry"] * options.retries
        deeds += ["hold"] * options.holds + ["edit"] * options.edits + ["rest"] * options.schedules
        self._dice.shuffle(deeds)
        for deed in deeds:
            await aio.sleep(self._dice.random() * options.span / len(deeds))
            if deed == "hold":
                await self._hold()
            elif deed == "rest":
                await self._rest(f"timer{self._dice.randint(1, options.schedules)}")
            elif self._asked:
                await self._alter(self._change(deed))

    def _change(self, deed: str) -> Change:
        match deed:
            case "cancel":
                return Change(kind="cancel")
            case "retry":
                return Change(kind="retry")
            case _:
                return edit(self._dice, self._options, self._clock.wall())

    async def _alter(self, change: Change) -> None:
        jobs = [self._dice.choice(self._asked)]
        await self._insist(lambda: self._backend.alter(jobs, change))

    async def _hold(self) -> None:
        """Pause a queue; it is resumed, or goes on by itself."""
        queue, seconds = QueueRef(self._dice.choice(QUEUES)), self._dice.uniform(0.5, 5.0)
        pause = Pause(reason="a simulated hold", by="operator", until=self._clock.wall() + seconds)
        await self._insist(lambda: self._backend.steer(queue, pause))
        if self._dice.random() < 0.5:
            await aio.sleep(self._dice.random() * seconds)
            await self._insist(lambda: self._backend.steer(queue, Resume()))

    async def _rest(self, name: str) -> None:
        """Pause a timer for a while, or for good."""
        book = TimerBook(self._backend, self._clock, IdSource(self._clock, self._dice.randbytes))
        with suppress(ScheduleNotFound, Conflict):  # no worker has told of it yet; others change it too
            await self._insist(lambda: book.pause(name, "a simulated rest", "operator"))
            await aio.sleep(self._dice.uniform(0.0, 5.0))
            if self._dice.random() < 0.8:
                await self._insist(lambda: book.resume(name))
