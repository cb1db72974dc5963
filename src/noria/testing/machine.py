"""What a simulated process has in place of a machine: its time, its journals, its threads.

And processes that are threads, for tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from noria.backends.contract import Evidence, Fence
from noria.ids import Id, SessionId
from noria.model.job import Lease
from noria.model.outcome import Failure
from noria.model.task import TaskDef
from noria.testing.virtual import Process, VirtualLoop, current_process
from noria.worker.child import attempt
from noria.worker.context import Context
from noria.worker.journal import Journal, Remains
from noria.worker.processes import Told
from noria.worker.raised import Raised
from noria.worker.scribe import LoopScribe
from noria.worker.threads import Done, Threads, Work
from noria.worker.wire import Threw

EPOCH = 1_700_000_000.0
"""The wall clock's time when a simulation begins."""


class VirtualClock:
    """The clock of a virtual loop. `jump` moves the wall clock alone, as an operator or NTP would."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._offset = EPOCH

    def wall(self) -> float:
        return self._loop.time() + self._offset

    def monotonic(self) -> float:
        return self._loop.time()

    def jump(self, seconds: float) -> None:
        """Move the wall clock."""
        self._offset += seconds

    def mend(self) -> None:
        """Set the wall clock to what it would show had it never jumped."""
        self._offset = EPOCH


class VirtualJournals:
    """Run journals of simulated processes; `lossy` ones vanish with their process, as with a whole host."""

    def __init__(self, lossy: bool = False) -> None:
        self._lossy = lossy
        self._open: dict[SessionId, VirtualJournal] = {}

    def owners(self) -> list[str]:
        """The processes that have open journals."""
        return [each.owner.name for each in self._open.values() if each.owner is not None]

    def create(self, session: SessionId, places: int) -> Journal:
        journal = VirtualJournal(self._open, session)
        self._open[session] = journal
        return journal

    @contextmanager
    def remains(self) -> Iterator[list[Remains]]:
        dead = {session: each for session, each in self._open.items() if each.owner and each.owner.dead}
        yield [] if self._lossy else [each.remains() for each in dead.values()]
        for session in dead:
            self._open.pop(session, None)


class VirtualJournal:
    """The journal of one simulated session."""

    def __init__(self, others: dict[SessionId, VirtualJournal], session: SessionId) -> None:
        self.owner: Process | None = current_process()
        self._others = others
        self._session = session
        self._places: dict[int, Fence] = {}

    def begin(self, place: int, id: Id, starts: int) -> None:
        self._places[place] = Fence(id, starts)

    def clear(self, place: int) -> None:
        self._places.pop(place, None)

    def close(self) -> None:
        self._others.pop(self._session, None)

    def remains(self) -> Remains:
        """What another process finds."""
        cause = f"the simulated process {self.owner.name if self.owner else '?'} was killed"
        return Remains(self._session, tuple(self._places.values()), Evidence(cause=cause))


class VirtualThreads:
    """`def` handlers run between two turns of the loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def submit(self, work: Work, done: Done) -> None:
        self._loop.call_soon(self._run, work, done)

    def close(self) -> None:
        pass

    def _run(self, work: Work, done: Done) -> None:
        work()
        self._loop.call_soon(done)


class ThreadProcesses:
    """In place of processes: their handlers run in threads of this one, so that a test sees what they do.

    A thread cannot be killed. One that should be is told to end, and no longer waited for.

    Args:
        threads: where they run.
        tasks: those of the application.
        wall: the time that handlers see.
    """

    def __init__(self, threads: Threads, tasks: Mapping[str, TaskDef], wall: Callable[[], float]) -> None:
        self._threads = threads
        self._tasks = tasks
        self._wall = wall
        self._scribe: LoopScribe | None = None

    def write_by(self, scribe: LoopScribe) -> None:
        self._scribe = scribe

    async def open(self) -> None:
        """There is nothing to see."""

    def submit(self, lease: Lease, begun: Callable[[], None], done: Callable[[Told], None]) -> ThreadSeat:
        begun()
        seat = ThreadSeat(Context(lease, None, self._wall, self._scribe), done)
        self._threads.submit(lambda: seat.run(self._tasks, lease), seat.end)
        return seat

    async def aclose(self) -> None:
        self._threads.close()


class ThreadSeat:
    """A job of `ThreadProcesses`."""

    def __init__(self, context: Context, done: Callable[[Told], None]) -> None:
        self._context = context
        self._done: Callable[[Told], None] | None = done
        self._told: Told | None = None
        self._loop = asyncio.get_running_loop()

    def run(self, tasks: Mapping[str, TaskDef], lease: Lease) -> None:
        """In the thread."""
        self._told = attempt(tasks, lease, self._context, asyncio.run)

    def end(self) -> None:
        """On the loop, after the handler, or without it."""
        done, self._done = self._done, None
        if done is not None:
            killed = Failure.of("crash", "its process was killed")
            done(self._told or Threw(Raised("crash", killed), 0))

    def halt(self) -> None:
        self._context.stop()

    def kill(self, why: str) -> None:
        self._context.stop()
        self._loop.call_soon(self.end)
