"""A real worker on a real SQLite store, in virtual time: an hour passes in a moment, and each run is the same."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from noria import Noria
from noria.backends.contract import Evidence, Fence, Want, WorkerCard
from noria.backends.sqlite import SqliteBackend
from noria.errors import Unavailable, Unknown
from noria.ids import IdSource, SessionId, seeded
from noria.model.job import Lane, Lease
from noria.testing.machine import ThreadProcesses, VirtualClock, VirtualJournals, VirtualThreads
from noria.testing.virtual import VirtualLoop
from noria.worker.drain import Exit
from noria.worker.outside import Outside
from noria.worker.settings import WorkerSettings
from noria.worker.threads import Done, Work
from noria.worker.worker import Worker

Test = Callable[..., Coroutine[Any, Any, None]]


def in_virtual_time(test: Test) -> Callable[..., None]:
    """Make a coroutine a test that runs on a virtual loop; it ends at once if nothing can happen any more."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        loop = VirtualLoop(7)
        try:
            loop.run_until_complete(test(*args, **kwargs))
        finally:
            loop.close()

    return run


class Faulty:
    """The real backend, some of whose calls fail as they do in life. Counts every call.

    `fail("settle", "unavailable", "unknown")` makes the next settle fail before it was done, and the one after
    that although it was done; "hang" never answers, "slow" is on its way for half a second, the answer of "late" is
    on its way back as long, "ok" works. Any exception may be given too: it is raised before.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._plan: dict[str, list[Any]] = {}
        self.calls: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.args: list[tuple[str, tuple[Any, ...]]] = []

    def fail(self, call: str, *how: Any) -> None:
        self._plan.setdefault(call, []).extend(how)

    def heal(self) -> None:
        self._plan.clear()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return functools.partial(self._call, name, found) if asyncio.iscoroutinefunction(found) else found

    async def _call(self, name: str, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        self.calls[name] += 1
        self.args.append((name, args))
        plan = self._plan.get(name)
        how = plan.pop(0) if plan else "ok"
        if isinstance(how, BaseException):
            raise how
        if how == "unavailable":
            raise Unavailable(f"{name} was not done")
        if how == "hang":
            await asyncio.Event().wait()
        if how == "slow":
            await asyncio.sleep(0.5)
        answer = await call(*args, **kwargs)
        self.done[name] += 1
        if how == "late":
            await asyncio.sleep(0.5)
        if how == "unknown":
            raise Unknown(f"nobody knows whether {name} was done")
        return answer


class HeldThreads:
    """Threads that end when the test says so, on the loop that the test runs on."""

    def __init__(self) -> None:
        self.held: list[tuple[Work, Done]] = []

    def submit(self, work: Work, done: Done) -> None:
        self.held.append((work, done))

    def end(self) -> None:
        """Let the one that began first run to its end."""
        work, done = self.held.pop(0)
        work()
        done()

    def close(self) -> None:
        pass


class Workplace:
    """One store, one application, and any number of workers, all in the virtual time of the running loop.

    Args:
        store: options of the backend.

    Attributes:
        store: the backend, for the test itself.
        faulty: the same, as workers see it.
        app: open; declare tasks on it before hiring a worker.
    """

    def __init__(self, **store: Any) -> None:
        self.loop = asyncio.get_running_loop()
        assert isinstance(self.loop, VirtualLoop)
        self.clock = VirtualClock(self.loop)
        self.dice = seeded(7)
        self.store = SqliteBackend(
            ":memory:", runtime=Path(), clock=self.clock, ids=self._ids(), inline=True, **store
        )
        self.faulty = Faulty(self.store)
        self.journals = VirtualJournals()
        self.app = Noria(backend=self.store, clock=self.clock, entropy=self.dice.randbytes)
        self._running: dict[Worker, asyncio.Task[Exit]] = {}

    def _ids(self) -> IdSource:
        return IdSource(self.clock, self.dice.randbytes)

    async def __aenter__(self) -> Self:
        await self.app.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.faulty.heal()
        for worker in self._running:
            worker.drain(now=True)
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        await self.app.__aexit__(None, None, None)

    def make(self, *, pool: Any = None, outside: Any = (), **settings: Any) -> Worker:
        """A worker that does not run yet."""
        given: dict[str, Any] = {
            "clock": self.clock,
            "entropy": self.dice.randbytes,
            "journals": self.journals,
            "threads": lambda loop, breather: pool or VirtualThreads(loop),
            "processes": lambda loop, settings, guarded: ThreadProcesses(
                pool or VirtualThreads(loop), self.app.tasks, self.clock.wall
            ),
            "host": "here",
            "pid": 1,
            "stand_in": False,
        }
        surroundings = self.app.surroundings(settings.pop("overrides", None))
        more = {"lifespan": surroundings.lifespan}
        more |= {name: settings.pop(name) for name in ("lifespan", "observer") if name in settings}
        return Worker(
            self.faulty,
            surroundings.tasks,
            settings=WorkerSettings(**{"concurrency": 10, "threads": 2, **settings}),
            outside=Outside(**{**given, **dict(outside)}),
            **more,
        )

    async def hire(self, **settings: Any) -> Worker:
        """A worker that runs."""
        return await self.start(self.make(**settings))

    async def start(self, worker: Worker) -> Worker:
        self._running[worker] = asyncio.ensure_future(worker.run())
        await worker.started.wait()
        return worker

    async def end(self, worker: Worker, *, now: bool = False) -> Exit:
        """Drain a worker; how it came to its end."""
        worker.drain(now=now)
        return await self._running.pop(worker)

    def outcome(self, worker: Worker) -> asyncio.Task[Exit]:
        """The end of a worker that ends by itself."""
        return self._running.pop(worker)

    async def pass_by(self, seconds: float) -> None:
        """Let so much time pass."""
        await asyncio.sleep(seconds)

    async def until(self, seen: Callable[[], Any], *, seconds: float = 60.0) -> None:
        """Look every few milliseconds of virtual time."""
        end = self.loop.time() + seconds
        while not seen():
            assert self.loop.time() < end, f"it did not happen within {seconds} s"
            await asyncio.sleep(0.005)

    async def someone(self, *tasks: str, **card: Any) -> SessionId:
        """A session in the test's own hands."""
        given = {"worker": "someone", "host": "there", "pid": 2, "queues": ("default",), "ttl": 10.0, **card}
        return await self.store.open(WorkerCard(tasks=tasks, **given))

    async def take(self, session: SessionId, count: int = 100) -> list[Lease]:
        """What that session leases."""
        wants = [Want("default", count, suspect=True, lane=lane) for lane in Lane]
        return (await self.store.lease(session, wants, count, 0.0)).leases

    async def crash(self, session: SessionId, leases: list[Lease]) -> None:
        """Its process dies with all of these begun."""
        started = [Fence(each.id, each.starts) for each in leases]
        await self.store.end(session, if_beat=None, started=started, evidence=Evidence(cause="it died"))
        await self.store.sweep(1_000)
