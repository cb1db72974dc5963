"""Getting jobs: how many to lease, and when to start or give back what was leased.

There is no prefetch to tune. Each kind of slot has a lane that asks for what its free slots can start now and,
while jobs end fast, for as many more as will end during two round trips. A job that waited too long for a slot
is given back, uncounted.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from noria import aio
from noria.backends.contract import Batch, Fence, Queue
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.job import Lane, Lease
from noria.model.outcome import Failure
from noria.model.task import LANES, Executor
from noria.worker.lane import LaneFeed
from noria.worker.run import Guard, Run, Runner

STALE_AFTER: Final = 0.5
"""Seconds after which a job that found no slot is given back."""


class Settling(Protocol):
    """The part of the settler that the feed looks at."""

    @property
    def full(self) -> bool:
        """Whether so much waits to be recorded that nothing more should be leased."""
        ...


class Feed:
    """Holds what was leased and not started, and starts it.

    Args:
        queue: the backend.
        runner: starts jobs.
        settling: says when to stop for outcomes that are not recorded yet.
        queues: the queues to serve.
        kinds: the kinds of slot that the worker's tasks need.
        wait: seconds that one lease may wait.
        chance: for the jitter while the backend is away.
        dry: called when every lane has found nothing and nothing is held.
        guarded: wraps what the loop calls, so that a fault in it ends the worker and is not only logged.
    """

    def __init__(
        self,
        *,
        queue: Queue,
        runner: Runner,
        settling: Settling,
        queues: Collection[str],
        kinds: Collection[Executor],
        wait: float,
        chance: random.Random,
        dry: Callable[[], None],
        guarded: Guard,
    ) -> None:
        self._queue = queue
        self._runner = runner
        self._settling = settling
        self._dry = dry
        self._guarded_start = guarded("start", self._start)
        self._loop = asyncio.get_running_loop()
        self._ready: dict[Executor, deque[Run]] = {"async": deque(), "thread": deque()}
        self._kinds = {lane: kind if kind in kinds else _other(kind) for kind, lane in LANES.items()}
        self._lanes = {
            lane: LaneFeed(lane=lane, slots=self, queue=queue, queues=queues, wait=wait, chance=chance)
            for lane in Lane
        }
        self._found = dict.fromkeys(Lane, True)
        self._waiting = asyncio.Event()
        self._starting = False
        self._unheard = False
        self._calls = 0
        self._inviting = False
        self._in_vain: Lane | None = None
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._recalling = asyncio.Lock()
        self._open = True
        self.session = SessionId(0)

    @property
    def buffered(self) -> int:
        """Jobs leased and not started."""
        return sum(map(len, self._ready.values()))

    def parts(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What the worker's crew must run, by name."""
        lanes = {f"lease-{lane.name.lower()}": each.run() for lane, each in self._lanes.items()}
        return {**lanes, "give-back": self._watch_waiting()}

    def reset(self, session: SessionId) -> None:
        """A new session begins: what the last one had leased belongs to others."""
        self.session = session
        self._unheard = False
        for ready in self._ready.values():
            ready.clear()
        self.wake()

    def wake(self) -> None:
        """Something may have made room: look again."""
        for lane in self._lanes.values():
            lane.wake()

    def close(self) -> None:
        """Lease no more, and give back everything that has not started, now or when it arrives."""
        self._open = False
        self._release(float("inf"))

    # -- what the lanes ask --------------------------------------------------------------------------------

    @property
    def leasing(self) -> bool:
        """Whether anything may be leased now."""
        return self._open and not self._settling.full

    def room(self, lane: Lane) -> tuple[int, int]:
        """Free slots that nothing held ready will take, and jobs held ready beyond those."""
        kind = self._kinds[lane]
        spare = self._runner.free[kind] - len(self._ready[kind])
        return max(0, spare), max(0, -spare)

    def ended(self, lane: Lane) -> int:
        """How many jobs in slots of this lane's kind have ended so far."""
        return self._runner.finished[self._kinds[lane]]

    @property
    def suspects_here(self) -> bool:
        """Whether a suspect runs or is held ready."""
        waiting = any(run.lease.tally.suspect for ready in self._ready.values() for run in ready)
        return waiting or self._runner.suspects > 0

    def may_invite(self, lane: Lane) -> bool:
        """One suspect at a time, or the next crash had two authors; a lane that found none lets others try."""
        if self._inviting or self.suspects_here:
            return False
        return self._in_vain is not lane or not any(self.room(each)[0] for each in Lane if each is not lane)

    @contextmanager
    def inviting(self, lane: Lane, suspect: bool) -> Iterator[None]:
        """A lease that may bring a suspect, or not."""
        self._inviting = self._inviting or suspect
        try:
            yield
        finally:
            if suspect:
                self._inviting, self._in_vain = False, None if self.suspects_here else lane

    async def before_lease(self) -> None:
        """After a lease without an answer: give back what the session holds and nobody here knows of."""
        if not self._unheard and not self._recalling.locked():
            return
        # What another lane is being given just now is not known yet, and not unheard of either: no lease may be
        # in flight when a recall begins, and none may begin before it has ended.
        async with self._recalling:
            while self._unheard:
                await self._quiet.wait()
                self._unheard = False
                await self._recall()

    async def _recall(self) -> None:
        known = [Fence(run.lease.id, run.lease.starts) for run in self._runner.held.values()]
        try:
            await self._queue.recall(self.session, known)
        except BaseException:
            self._unheard = True
            raise

    def in_flight(self, calls: int) -> None:
        """A lease begins (1) or ends (-1)."""
        self._calls += calls
        if self._calls:
            self._quiet.clear()
        else:
            self._quiet.set()

    def unheard(self) -> None:
        """A lease failed: the session may hold jobs that nobody here knows of."""
        self._unheard = True

    def arrived(self, lane: Lane, session: SessionId, batch: Batch) -> None:
        """Hold what was leased, and start what has a slot."""
        if session != self.session:
            return
        for lease in batch.leases:
            self._hold(lease)
        self._found[lane] = bool(batch.leases)
        self._start()
        if not self._open:
            self._release(float("inf"))
        elif not any(self._found.values()) and not self._runner.held:
            self._dry()

    # -- starting ------------------------------------------------------------------------------------------

    def _hold(self, lease: Lease) -> None:
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
            self._loop.call_soon(self._guarded_start)

    def _start(self) -> None:
        self._starting = False
        for kind, ready in self._ready.items():
            while ready and self._runner.free[kind] and self._open:
                self._runner.start(ready.popleft())
            if ready:
                self._waiting.set()
        self.wake()

    # -- giving back ---------------------------------------------------------------------------------------

    async def _watch_waiting(self) -> None:
        """Give back what waits too long for a slot, for ever."""
        while True:
            await self._waiting.wait()
            await aio.sleep(STALE_AFTER / 5)
            self._release(self._loop.time() - STALE_AFTER)
            if not self.buffered:
                self._waiting.clear()

    def _release(self, before: float) -> None:
        failure = Failure.of("released", "it waited too long for a slot of the worker that had leased it")
        for ready in self._ready.values():
            while ready and ready[0].since < before:
                run = ready.popleft()
                self._runner.refuse(run, ends.after_release(run.lease.tally, failure))

    def drop(self, run: Run) -> None:
        """A job that waits here was settled otherwise."""
        for ready in self._ready.values():
            if run in ready:
                ready.remove(run)


def _other(kind: Executor) -> Executor:
    """Which slots serve a lane whose own kind no task needs: its jobs are of a task that has changed."""
    return "thread" if kind == "async" else "async"
