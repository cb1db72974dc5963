"""The workers of a test: real ones, each in a simulated process that can be killed."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, Final

from noria.aio import Breather
from noria.errors import NoriaError, Unavailable
from noria.testing.mishaps import FatefulBackend, Plan
from noria.testing.stage import Stage
from noria.testing.virtual import Process, current_process
from noria.worker.threads import Done, ThreadPool, Threads, Work
from noria.worker.worker import Worker

_BURIAL: Final = 60.0
"""Virtual seconds that workers, and what the killed left behind, get to end."""


class Stuck(NoriaError):
    """A test waits for what does not come: a job goes on for a day, or its worker has failed."""


class _Calm(Breather):
    """A loop on stage waits for its threads anyway."""

    def hold(self) -> None:
        pass

    def release(self) -> None:
        pass


class StageThreads:
    """Real threads; while one runs, time stands still, and what a killed worker's thread brings back is lost."""

    def __init__(self, stage: Stage, loop: asyncio.AbstractEventLoop) -> None:
        self._stage = stage
        self._process = current_process()
        self._context = contextvars.copy_context()
        self._pool: Threads = ThreadPool(loop, _Calm(loop), "noria-test")

    def submit(self, work: Work, done: Done) -> None:
        self._stage.begun()
        self._pool.submit(work, lambda: self._end(done))

    def _end(self, done: Done) -> None:
        self._stage.ended()
        if self._process is None or not self._process.dead:
            self._context.copy().run(done)

    def close(self) -> None:
        self._pool.close()


class Member:
    """One worker."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.backend: FatefulBackend | None = None
        self.worker: Worker | None = None
        self.up = asyncio.Event()
        self.main: asyncio.Task[Any] | None = None


class Fleet:
    """Starts workers, and replaces those that are killed, as a supervisor would.

    Args:
        connect: makes a backend for one worker, of a plan and of what its mishaps do.
        make: a worker on a backend; its number tells it from others.
    """

    def __init__(
        self, stage: Stage, connect: Callable[..., FatefulBackend], make: Callable[[Any, int], Worker]
    ) -> None:
        self._stage = stage
        self._connect = connect
        self._make = make
        self._count = 0
        self._alive: list[Member] = []
        self._dead: list[Member] = []
        self.plan = Plan()

    @property
    def doubled(self) -> bool:
        """Whether a job still runs in a worker that was taken for dead."""
        return any(each.backend is not None and each.backend.zombies for each in self._alive)

    async def hire(self) -> None:
        """Start a worker, and wait until it takes jobs.

        Raises: what kept it from starting, such as an error of the application's lifespan.
        """
        member = self.spawn()
        await member.up.wait()
        self.check()

    def spawn(self) -> Member:
        """Start a worker."""
        self._count += 1
        member = Member(Process(self._stage, f"worker{self._count}"))
        self._alive.append(member)
        member.main = member.process.start(self._live(member, self._count))
        member.main.add_done_callback(lambda _: member.up.set(), context=contextvars.Context())
        return member

    async def _live(self, member: Member, number: int) -> None:
        member.backend = self._connect(
            self.plan,
            die=lambda: self._replace(member),
            doubled=self._double,
            over=lambda: self._retire(member),
        )
        await member.backend.start()
        member.worker = self._make(member.backend, number)
        member.worker.started = member.up
        await member.worker.run()
        if member in self._alive:
            self._alive.remove(member)

    def check(self) -> None:
        """Raise what has ended a worker that should still run."""
        for each in list(self._alive):
            if each.main is not None and each.main.done() and each.main.exception() is not None:
                self._alive.remove(each)
                each.main.result()

    # -- what befalls them -----------------------------------------------------------------------------------

    def kill(self) -> None:
        """As kill -9: from now on nothing of any worker runs."""
        for each in list(self._alive):
            each.process.kill()
            self._alive.remove(each)
            self._dead.append(each)

    def _replace(self, member: Member) -> None:
        member.process.kill()
        self._alive.remove(member)
        self._dead.append(member)
        self.spawn()

    def _double(self) -> None:
        self.spawn()

    def _retire(self, member: Member) -> None:
        if member.worker is not None:
            member.worker.drain(now=True)

    # -- the end ---------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Drain who lives; then those that were killed, without a backend, for what they had opened.

        Raises: what went wrong while the living ended, such as an error of the application's lifespan.
        """
        last = list(self._alive)
        await self._drain(last)
        for each in self._dead:
            if each.backend is not None:
                each.backend.sever(Unavailable("this worker was killed by a test"))
            self._stage.raise_up(each.process)
        await self._drain(self._dead)
        for each in last:
            if each.main is not None and each.main.done() and not each.main.cancelled():
                each.main.result()

    async def _drain(self, members: list[Member]) -> None:
        for each in members:
            if each.worker is not None:
                each.worker.drain(now=True)
        await _ended([each.main for each in members if each.main is not None])
        left = [task for each in members for task in self._stage.tasks_of(each.process)]
        for task in left:
            task.cancel()
        await _ended(left)


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=_BURIAL)
    for each in tasks:
        if each.done() and not each.cancelled():
            each.exception()
