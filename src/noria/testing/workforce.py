"""The workers of a simulation: each a process, watched by a supervisor that replaces those that fall."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from noria import aio
from noria.errors import BackendError
from noria.testing.events import Fact, Fault
from noria.testing.virtual import Process, VirtualLoop
from noria.worker.ending import WorkerFault
from noria.worker.worker import Worker

_LOOKS_EVERY: Final = 1.0
"""Virtual seconds between two looks of the supervisor."""


class Mishap(Struct, frozen=True):
    """A worker that ended as no worker should."""

    name: str
    error: BaseException


class Workforce:
    """Starts workers, and knows which of them live.

    Args:
        make: a worker for a process, on a started backend.
        note: told of workers that end before their time.
        cancelled: says whether the simulation itself has cancelled something in the process of this name.

    Attributes:
        alive: workers by name; their object is there as soon as they have begun.
        mishaps: workers that failed by themselves: faults of Noria.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        make: Callable[[Process], Any],
        note: Callable[[Fact], None],
        cancelled: Callable[[str], bool],
    ) -> None:
        self._loop = loop
        self._make = make
        self._note = note
        self._cancelled = cancelled
        self._names = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self.alive: dict[str, tuple[Process, Worker | None]] = {}
        self.mishaps: list[Mishap] = []

    def spawn(self) -> None:
        """Start one more."""
        self._names += 1
        process = self._loop.process(f"worker{self._names}")
        self.alive[process.name] = (process, None)
        self._tasks.append(process.start(self._work(process)))

    def replace_fallen(self) -> None:
        """Start one for each that has died or failed since."""
        for name in [name for name, (process, _) in self.alive.items() if process.dead]:
            self.alive.pop(name)
            self.spawn()

    async def fallen(self) -> None:
        """Wait until those have ended that the simulation has brought down."""
        while any(self._cancelled(name) and not process.dead for name, (process, _) in self.alive.items()):
            await aio.sleep(0.1)

    async def supervise(self) -> None:
        """Replace the fallen, for ever."""
        while True:
            await aio.sleep(_LOOKS_EVERY)
            self.replace_fallen()

    async def dismiss(self, seconds: float) -> None:
        """Drain all, and wait until they are gone, but no longer than that."""
        for process, worker in self.alive.values():
            process.resume()
            if worker is not None:
                worker.drain()
        until = self._loop.time() + seconds
        while self.alive and self._loop.time() < until:
            await aio.sleep(0.1)

    async def _work(self, process: Process) -> None:
        try:
            worker = await self._make(process)
            self.alive[process.name] = (process, worker)
            await worker.run()
            self.alive.pop(process.name, None)
        except (BackendError, WorkerFault, asyncio.CancelledError) as error:
            self._ended(process.name, error)
        process.dead = True

    def _ended(self, name: str, error: BaseException) -> None:
        """It gave up, and its process with it: what it held is as after a kill."""
        self._note(Fault(phase="begin", name=f"end of {name}", what="kill", target=name))
        if isinstance(error, BackendError) or (self._cancelled(name) and _is_cancellation(error)):
            return
        self.mishaps.append(Mishap(name, error))


def _is_cancellation(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError) or isinstance(error.__cause__, asyncio.CancelledError)
