"""Getting jobs: how many to lease, and when to start or give back what was leased.

There is no prefetch to tune. The feed asks for what its free slots can start now, and, while jobs end fast,
for as many more as will end during two round trips; a job that waited too long for a slot is given back.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, Protocol

from noria import aio
from noria.backends.contract import Batch, Fence, Queue, Want
from noria.errors import BackendError
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.job import Lane, Lease
from noria.model.limits import MAX_BATCH
from noria.model.outcome import Failure
from noria.model.task import Executor
from noria.worker.run import Run, Runner

log = logging.getLogger("noria.worker")

HORIZON: Final = 0.05
"""Only jobs that should start within this many seconds are leased ahead of a free slot."""
STALE_AFTER: Final = 0.5
"""Seconds after which a job that found no slot is given back."""
_LANES: Final[dict[Executor, Lane]] = {"async": Lane.LOOP, "thread": Lane.THREAD}
_OUTAGE_AT_MOST: Final = 5.0


class Pace:
    """How fast jobs of one kind end, and how many to hold ready for that: two moving averages."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._trip = 0.001

    def ended(self, jobs: int, seconds: float) -> None:
        """So many jobs ended in so many seconds."""
        if seconds > 0:
            self._rate += (jobs / seconds - self._rate) * min(1.0, seconds * 20)

    def leased(self, seconds: float) -> None:
        """A lease that found jobs took so long."""
        self._trip += (min(seconds, HORIZON) - self._trip) * 0.2

    @property
    def ahead(self) -> int:
        """Jobs to hold beyond the free slots."""
        return min(int(self._rate * min(2 * self._trip, HORIZON)), MAX_BATCH)


class Settling(Protocol):
    """The part of the settler that the feed looks at."""

    @property
    def full(self) -> bool:
        """Whether so much waits to be recorded that nothing more should be leased."""
        ...


class Feed:
    """Leases jobs for the runner, one call in flight.

    Args:
        queue: the backend.
        runner: starts them.
        settling: says when to stop for outcomes that are not recorded yet.
        queues: the queues to serve.
        poll: seconds that one lease may wait.
        chance: for the jitter while the backend is away.
        dry: called when a lease found nothing and nothing is held.
    """

    def __init__(
        self,
        *,
        queue: Queue,
        runner: Runner,
        settling: Settling,
        queues: Collection[str],
        poll: float,
        chance: random.Random,
        dry: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._settling = settling
        self._queues = deque(sorted(queues))
        self._poll = poll
        self._chance = chance
        self._dry = dry
        self._loop = asyncio.get_running_loop()
        self._ready: dict[Executor, deque[Run]] = {"async": deque(), "thread": deque()}
        self._pace: dict[Executor, Pace] = {"async": Pace(), "thread": Pace()}
        self._marks: dict[Executor, int] = {"async": 0, "thread": 0}
        self._room = asyncio.Event()
        self._waiting = asyncio.Event()
        self._starting = False
        self._since = self._loop.time()
        self._session = SessionId(0)
        self._unheard = False
        self.open = True

    @property
    def buffered(self) -> int:
        """Jobs leased and not started."""
        return sum(map(len, self._ready.values()))

    def reset(self, session: SessionId) -> None:
        """A new session begins: what the last one had leased belongs to others."""
        self._session = session
        self._unheard = False
        for ready in self._ready.values():
            ready.clear()
        self.wake()

    def wake(self) -> None:
        """Something may have made room: look again."""
        self._room.set()

    # -- leasing -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Lease for ever; a task of the worker's crew."""
        pause = 0.05
        while True:
            await self._room.wait()
            wants, limit = self._wants()
            if not limit:
                self._room.clear()
                continue
            try:
                await self._lease(wants, limit)
                pause = 0.05
            except BackendError as error:
                self._unheard = True
                log.warning("no jobs can be leased, trying again: %s", error)
                await aio.sleep(pause * (0.5 + self._chance.random()))
                pause = min(pause * 2, _OUTAGE_AT_MOST)

    async def _lease(self, wants: list[Want], limit: int) -> None:
        if self._unheard:
            await self._queue.recall(self._session, self._known())
            self._unheard = False
        session, asked = self._session, self._loop.time()
        wait = 0.0 if self._settling.full else self._poll
        batch = await self._queue.lease(session, wants, limit, wait)
        self._measure(batch, asked)
        if session != self._session:
            return
        for lease in batch.leases:
            self._arrived(lease)
        self._start()
        if not batch.leases and not self._runner.held:
            self._dry()

    def _wants(self) -> tuple[list[Want], int]:
        """One want for each queue and kind of slot, each kind's room shared evenly."""
        if not self.open or self._settling.full or not self._queues:
            return [], 0
        self._queues.rotate(-1)
        wants: list[Want] = []
        suspect = not self._suspects_held()
        for kind, lane in _LANES.items():
            held = len(self._ready[kind])
            now = max(0, self._runner.free[kind] - held)
            ahead = max(0, self._pace[kind].ahead - max(0, held - self._runner.free[kind]))
            # Few at a time while the buffer is nearly full would make many small transactions.
            if not now and ahead * 2 < self._pace[kind].ahead:
                continue
            wants += self._shares(lane, now, ahead, suspect)
        return wants, min(sum(want.now + want.ahead for want in wants), MAX_BATCH)

    def _shares(self, lane: Lane, now: int, ahead: int, suspect: bool) -> list[Want]:
        count = len(self._queues)
        shares = [Want(queue, (now + i) // count, (ahead + i) // count, suspect, lane)
                  for i, queue in enumerate(self._queues)]  # fmt: skip
        return [share for share in shares if share.now or share.ahead]

    def _suspects_held(self) -> bool:
        waiting = any(run.lease.tally.suspect for ready in self._ready.values() for run in ready)
        return waiting or self._runner.suspects > 0

    def _known(self) -> list[Fence]:
        return [Fence(run.lease.id, run.lease.starts) for run in self._runner.held.values()]

    def _measure(self, batch: Batch, asked: float) -> None:
        now = self._loop.time()
        for kind, pace in self._pace.items():
            pace.ended(self._runner.finished[kind] - self._marks[kind], now - self._since)
            self._marks[kind] = self._runner.finished[kind]
            if batch.leases:
                pace.leased(now - asked)
        self._since = now

    # -- starting ------------------------------------------------------------------------------------------

    def _arrived(self, lease: Lease) -> None:
        run = self._runner.take(lease)
        if run.task is None:
            failure = Failure.of("unknown_task", f"no worker that was asked knows the task {lease.task!r}")
            self._runner.refuse(run, ends.after_park(failure))
        else:
            self._ready[run.task.executor].append(run)

    def freed(self) -> None:
        """A slot is free: start what waits for one, once for all slots that become free in this turn."""
        if not self._starting:
            self._starting = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._starting = False
        for kind, ready in self._ready.items():
            while ready and self._runner.free[kind]:
                self._runner.start(ready.popleft())
            if ready:
                self._waiting.set()
        self._room.set()

    # -- giving back ---------------------------------------------------------------------------------------

    async def give_back(self) -> None:
        """Give back what waits too long for a slot, for ever; a task of the worker's crew."""
        while True:
            await self._waiting.wait()
            await aio.sleep(STALE_AFTER / 5)
            self._release(self._loop.time() - STALE_AFTER)
            if not self.buffered:
                self._waiting.clear()

    def release_all(self) -> None:
        """Give back everything that has not started."""
        self._release(float("inf"))

    def _release(self, before: float) -> None:
        for ready in self._ready.values():
            while ready and ready[0].since < before:
                self._give_back(ready.popleft())

    def _give_back(self, run: Run) -> None:
        failure = Failure.of("released", "it waited too long for a slot of the worker that had leased it")
        self._runner.refuse(run, ends.after_release(run.lease.tally, failure))

    def drop(self, run: Run) -> None:
        """A job that waits here was settled otherwise."""
        for ready in self._ready.values():
            if run in ready:
                ready.remove(run)
