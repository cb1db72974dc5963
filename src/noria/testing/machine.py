"""What a simulated process has in place of a machine: its time, its journals, its threads, a slow backend."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from noria import aio
from noria.backends.contract import Evidence, Fence
from noria.ids import Id, SessionId
from noria.testing.virtual import Process, VirtualLoop, current_process
from noria.worker.journal import Journal, Remains
from noria.worker.threads import Done, Work

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


class VirtualJournals:
    """Run journals of simulated processes; `lossy` ones vanish with their process, as with a whole host."""

    def __init__(self, lossy: bool = False) -> None:
        self._lossy = lossy
        self._open: dict[SessionId, VirtualJournal] = {}

    def create(self, session: SessionId, slots: int) -> Journal:
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
        self._slots: dict[int, Fence] = {}

    def begin(self, slot: int, id: Id, starts: int) -> None:
        self._slots[slot] = Fence(id, starts)

    def clear(self, slot: int) -> None:
        self._slots.pop(slot, None)

    def close(self) -> None:
        self._others.pop(self._session, None)

    def remains(self) -> Remains:
        """What another process finds."""
        cause = f"the simulated process {self.owner.name if self.owner else '?'} was killed"
        return Remains(self._session, tuple(self._slots.values()), Evidence(cause=cause))


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


class Slow:
    """Makes every coroutine method of a backend take time before and after it acts.

    So a process can be killed or paused when its call has not been made yet, and when it has been made and the
    answer is on its way. The object stands in for a `Backend`; what is no coroutine passes through.

    Args:
        inner: the backend.
        chance: draws the times.
        longest: seconds that one way takes at most.
    """

    def __init__(self, inner: Any, chance: random.Random, longest: float) -> None:
        self._inner = inner
        self._chance = chance
        self._longest = longest

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _CALLS:
            return found
        return self._delayed(found)

    def _delayed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def slow(*args: Any, **kwargs: Any) -> Any:
            await aio.sleep(self._chance.random() * self._longest)
            reply = await call(*args, **kwargs)
            await aio.sleep(self._chance.random() * self._longest)
            return reply

        return slow


_CALLS = frozenset(
    {"push", "lease", "recall", "settle", "sweep", "open", "renew", "overdue", "end", "get", "alter", "find"}
)
