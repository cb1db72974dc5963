"""Getting jobs: how many to lease, and when to start or give back what was leased.

There is no prefetch to tune. Each kind of slot has a lane that asks for what its free slots can start now and,
while jobs end fast, for as many more as will end during two round trips. A job that waited too long for a slot
is given back, uncounted.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from msgspec import structs

from noria import aio
from noria.aio import Guard
from noria.backends.contract import Batch, Fence, Queue
from noria.ids import SessionId
from noria.model import outcome as ends
from noria.model.job import Lane, Lease
from noria.model.limits import MAX_BATCH
from noria.model.outcome import End, Failure, Outcome
from noria.model.state import State
from noria.model.task import LANES, Executor
from noria.worker.held import Run
from noria.worker.lane import LaneFeed
from noria.worker.ready import Ready, Withdrawal
from noria.worker.run import Runner

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
        queues: the queues to serve, with their weights.
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
        queues: Mapping[str, int],
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
        self._ready: dict[Executor, Ready] = {kind: Ready() for kind in LANES}
        self._homes = {lane: kind if kind in kinds else _other(kinds) for kind, lane in LANES.items()}
        self._kinds = dict(self._homes)
        self._lanes = {
            lane: LaneFeed(lane=lane, slots=self, queue=queue, queues=queues, wait=wait, chance=chance)
            for lane in Lane
        }
        # A lane without slots never asks, so a burst does not wait for its answer.
        self._found = {lane: runner.free[kind] > 0 for lane, kind in self._kinds.items()}
        self._waiting = asyncio.Event()
        self._starting = False
        self._unheard = False
        self._calls = 0
        self._inviting = False
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._recalling = asyncio.Lock()
        # Held for a few steps at a time: whoever takes a run out of `_ready` under it, owns the run.
        self._custody = threading.Lock()
        self._withdrawals = 0
        self._daring = MAX_BATCH
        self._late: list[tuple[Lane, SessionId, Batch]] = []
        self._gone: set[Fence] = set()
        self._doubtful: set[Lane] = set()
        self._open = True
        self.resting = False
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
        with self._custody:
            for ready in self._ready.values():
                ready.clear()
            self._gone.clear()
            self._doubtful.clear()
        self.wake()

    def wake(self) -> None:
        """Something may have made room: look again."""
        for lane in self._lanes.values():
            lane.wake()

    def rest(self, resting: bool) -> None:
        """Lease nothing, and give back what has not started; or lease again."""
        if resting == self.resting:
            return
        self.resting = resting
        if resting:
            self._release(float("inf"))
        self.wake()

    def close(self) -> None:
        """Lease no more, and give back everything that has not started, now or when it arrives."""
        self._open = False
        self._release(float("inf"))

    # -- what the lanes ask --------------------------------------------------------------------------------

    @property
    def leasing(self) -> bool:
        """Whether anything may be leased now."""
        return self._open and not self.resting and not self._settling.full

    def room(self, lane: Lane) -> tuple[int, int]:
        """Free slots that nothing held ready will take, and jobs held ready beyond those.

        While jobs block the loop again and again, only a few slots, and as if enough were held ready: all others
        would come in vain, and go back.
        """
        kind = self._kinds[lane]
        spare = self._runner.free[kind] - len(self._ready[kind])
        if self._daring < MAX_BATCH:
            return min(max(0, spare), self._daring), MAX_BATCH
        return max(0, spare), max(0, -spare)

    def ended(self, lane: Lane) -> int:
        """How many jobs in slots of this lane's kind have ended so far."""
        return self._runner.finished[self._kinds[lane]]

    @property
    def may_invite(self) -> bool:
        """One suspect at a time, held ready or running, or the next crash had two authors."""
        ready = any(ready.suspects for ready in self._ready.values())
        return not (self._inviting or ready or self._runner.slots.suspects)

    @contextmanager
    def inviting(self, suspect: bool) -> Iterator[None]:
        """A lease that may bring a suspect, or not."""
        self._inviting = self._inviting or suspect
        try:
            yield
        finally:
            if suspect:
                self._inviting = False

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
        known = [_fence(run) for run in self._runner.held.values()]
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
        with self._custody:
            if self._withdrawals:
                self._late.append((lane, session, batch))
                return
            leases = self._trusted(lane, session, batch)
            runs = [self._hold(lease) for lease in leases]
        if session != self.session:
            return
        if batch.leases and not self._runner.launched:
            # All that was started has taken its first step, and nothing stands in the way.
            self._daring = min(2 * self._daring, MAX_BATCH)
        self._sort(lane, runs)
        # Suspects come one at a time: that none came now does not mean that there is nothing to do.
        self._found[lane] = bool(batch.leases) or batch.suspects
        self._start()
        if not self._open or self.resting:
            self._release(float("inf"))
        elif not any(self._found.values()) and not self._runner.held:
            self._dry()

    # -- starting ------------------------------------------------------------------------------------------

    def _sort(self, lane: Lane, runs: Sequence[Run]) -> None:
        """See which slots a lane serves: jobs of a task that has changed since may need others than their lane says.

        Were it asked for as many as its own slots have room for, they would come, wait in vain, and go back.
        """
        kinds = {run.task.executor for run in runs if run.task is not None}
        if kinds:
            home = self._homes[lane]
            self._kinds[lane] = home if home in kinds else min(kinds)

    def _hold(self, lease: Lease) -> Run:
        run = self._runner.take(lease)
        if run.task is None:
            failure = Failure.of("unknown_task", f"no worker that was asked knows the task {lease.task!r}")
            self._runner.refuse(run, ends.after_park(failure))
        elif lease.flaw:
            failure = Failure.of("arguments", lease.flaw)
            self._runner.refuse(run, End(Outcome.FAILED, State.FAILED, failure=failure))
        else:
            self._ready[run.task.executor].append(run)
        return run

    def freed(self) -> None:
        """A slot is free: start what waits for one, once for all slots that become free in this turn."""
        if not self._starting:
            self._starting = True
            self._loop.call_soon(self._guarded_start)

    def _start(self) -> None:
        self._starting = False
        for kind, ready in self._ready.items():
            while (run := self._next(kind, ready)) is not None:
                self._runner.start(run)
            if ready:
                self._waiting.set()
        self.wake()

    def _next(self, kind: Executor, ready: Ready) -> Run | None:
        with self._custody:
            may = ready and self._runner.free[kind] and self._open and not self.resting
            return ready.pop() if may else None

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
        with self._custody:
            for ready in self._ready.values():
                while ready and ready.since < before:
                    run = ready.pop()
                    self._runner.refuse(run, ends.after_release(run.lease.tally, failure))

    def drop(self, run: Run) -> None:
        """A job that waits here was settled otherwise."""
        with self._custody:
            for ready in self._ready.values():
                ready.drop(run)

    # -- giving back from another thread -------------------------------------------------------------------

    def withdraw(self) -> Withdrawal | None:
        """From another thread, while the loop does not turn: take all that has not begun; None if nothing has to be.

        What a lease brings from now on waits until `withdrawn` has told what became of this.
        """
        if not self._custody.acquire(blocking=False):
            return None
        try:
            runs = [run for ready in self._ready.values() for run in ready.clear()]
            runs += self._runner.launched.clear()
            # The answer of a lease may be on its way to the loop: that is looked for once.
            if not runs and (self._withdrawals or not self._calls):
                return None
            taken = set(runs)
            known = [_fence(run) for run in list(self._runner.held.values()) if run not in taken]
            self._withdrawals += 1
            self._daring = 1 if runs else self._daring
            return Withdrawal(self.session, runs, known)
        finally:
            self._custody.release()

    def withdrawn(self, what: Withdrawal, given_back: Collection[Fence] | None) -> None:
        """On the loop: these starts were given back; None: nobody knows which, so that they must be recalled."""
        with self._custody:
            if what.session == self.session:
                self._forget(what, given_back)
            self._withdrawals -= 1
            late, self._late = (self._late, []) if not self._withdrawals else ([], self._late)
        for each in late:
            self.arrived(*each)
        self.freed()

    def _forget(self, what: Withdrawal, given_back: Collection[Fence] | None) -> None:
        if given_back:
            self._daring = 1
        for run in what.runs:
            run.settled = True
            self._runner.forget(run.lease.id, run.lease.starts)
        if given_back is None:
            self._unheard = True
            self._doubtful = set(Lane) if self._calls or self._late else set()
        else:
            self._gone |= set(given_back) - set(map(_fence, what.runs))

    def _trusted(self, lane: Lane, session: SessionId, batch: Batch) -> list[Lease]:
        """Those leases of a batch that the session still holds, as far as is known."""
        if session != self.session:
            return []
        if lane in self._doubtful:
            self._doubtful.discard(lane)
            self._unheard = True
            return []
        if any(self._is_held(lease) for lease in batch.leases):
            # A server that crashed has forgotten their leases, and now gave them out again: the very same starts.
            # If some were refused just before, nobody here will know of them: see what the session holds.
            self._unheard = True
            batch = structs.replace(
                batch, leases=[lease for lease in batch.leases if not self._is_held(lease)]
            )
        if not self._gone:
            return batch.leases
        here = [lease for lease in batch.leases if Fence(lease.id, lease.starts) not in self._gone]
        self._gone -= {Fence(lease.id, lease.starts) for lease in batch.leases}
        return here

    def _is_held(self, lease: Lease) -> bool:
        run = self._runner.held.get(lease.id)
        return run is not None and run.lease.starts == lease.starts


def _fence(run: Run) -> Fence:
    return Fence(run.lease.id, run.lease.starts)


def _other(kinds: Collection[Executor]) -> Executor:
    """Which slots serve a lane whose own kind no task needs: its jobs are of a task that has changed."""
    return next(kind for kind in LANES if kind in kinds)
