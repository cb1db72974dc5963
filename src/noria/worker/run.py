"""Running jobs: from a lease to the end of its start.

Whatever a handler raises is data about its job. Only a `Doom` that this file has put on a run steers it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from noria import aio
from noria.aio import Guard
from noria.clock import Clock
from noria.ids import Id
from noria.model import outcome as ends
from noria.model.backoff import Chance
from noria.model.job import Lease
from noria.model.outcome import End, Outcome
from noria.model.settlement import Settlement
from noria.model.task import Arguments, Executor, TaskDef
from noria.worker.allowance import Allowance
from noria.worker.call import call, pack, surrounded, with_context
from noria.worker.context import Context
from noria.worker.errand import Errand
from noria.worker.held import Run, label
from noria.worker.journal import Journal
from noria.worker.judge import Doom, after_doom, after_raised, deadline_passed
from noria.worker.leave import Slots
from noria.worker.processes import Processes, Seat, Told
from noria.worker.raised import raised, refused
from noria.worker.ready import Launched
from noria.worker.threads import Threads
from noria.worker.wire import Returned
from noria.worker.writing import Scribe

log = logging.getLogger("noria.worker")

OVERRUN: Final = 5.0
"""Seconds that a coroutine gets to end after it was told to, before its outcome is settled without it."""
LAST_CHANCE: Final = 1.0
"""Seconds that a handler in a process gets to end after it was told to, before its process is killed."""


class Runner:
    """Runs handlers in slots: `async def` on the loop, `def` in threads or in processes.

    A slot is free when its handler has ended; the outcome may still wait to be recorded.

    Args:
        tasks: the tasks this worker knows.
        slots: how many of each kind.
        pool, processes: where `def` handlers run; without processes there must be no slots of that kind.
        settle: takes the settlement of each start.
        freed: called when a slot has become free.
        chance: for the jitter of backoffs.
        scribe: makes the writes of handlers in mid-run.
        guarded: wraps what the loop calls, so that a fault in it ends the worker and is not only logged.
    """

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        tasks: Mapping[str, TaskDef],
        slots: Mapping[Executor, int],
        pool: Threads,
        processes: Processes | None,
        clock: Clock,
        chance: Chance,
        settle: Callable[[Settlement], None],
        freed: Callable[[], None],
        guarded: Guard,
        scribe: Scribe | None = None,
    ) -> None:
        self.loop = loop
        self._tasks = tasks
        self._pool = pool
        self._processes = processes
        self._clock = clock
        self._chance = chance
        self._settle = settle
        self._freed = freed
        self._scribe = scribe
        self._base = contextvars.copy_context()
        self.time = Allowance(loop, clock, guarded("time limits", self._expired))
        self._finish = guarded("run", self._ended)
        self._finish_apart = guarded("run", self._ended_apart)
        self.slots = Slots(slots, freed)
        self.free = self.slots.free
        self.held: dict[Id, Run] = {}
        self.launched = Launched()
        self.strays: dict[Run, float] = {}
        self.finished: dict[Executor, int] = dict.fromkeys(slots, 0)
        self.state: Any = None
        self.closed = False
        self._journal: Journal | None = None
        self._places: list[int] = []

    # -- starting ------------------------------------------------------------------------------------------

    def take(self, lease: Lease) -> Run:
        """Make a run of a lease; it is held until `forget`."""
        run = Run(lease, self._tasks.get(lease.task), self.loop.time())
        self.held[lease.id] = run
        return run

    def keep(self, journal: Journal, places: int) -> None:
        """From now on starts are written into this journal, which has so many places."""
        self._journal, self._places = journal, list(range(places))

    def forget(self, id: Id, starts: int) -> None:
        """The outcome of this start is recorded, or refused: the session holds it no more."""
        run = self.held.get(id)
        if run is not None and run.lease.starts == starts:
            del self.held[id]
            self._strike(run)

    def refuse(self, run: Run, end: End) -> None:
        """End a run that has not begun."""
        self._record(run, end)

    def start(self, run: Run) -> None:
        """Begin a run; the caller has seen that a slot of its kind is free and the task is known."""
        task = run.task
        assert task is not None
        limit = self.time.of(run, task)
        if limit is not None and limit <= 0:
            self._record(run, deadline_passed())
        elif task.executor == "process":
            self._start_apart(run, task)
        else:
            self._start_here(run, task, limit)

    def _start_here(self, run: Run, task: TaskDef, limit: float | None) -> None:
        try:
            arguments = task.unpack(run.lease.body, run.lease.codec)
        except BaseException as error:  # noqa: BLE001 - a class of the user's may raise anything in decoding
            self._record(run, after_raised(refused(error), run.lease, task, self._chance))
            return
        self.slots.take(run, task.executor)
        self._begin(run, limit)
        if task.takes_context:
            run.context = Context(run.lease, self.state, self._clock.wall, self._scribe)
        if task.executor == "async":
            self.launched.add(run)
            run.handle = aio.launch(self.loop, self._attempt(run, task, arguments), self._base.copy())
        elif task.around is not None:
            self.launched.add(run)
            run.handle = aio.launch(self.loop, self._surrounded(run, task, arguments), self._base.copy())
        else:
            self._pool.submit(lambda: self._call(run, task, arguments), lambda: self._finish(run))

    def _start_apart(self, run: Run, task: TaskDef) -> None:
        """In a process, which decodes the arguments itself; it may have to be started first."""
        assert self._processes is not None
        self.slots.take(run, task.executor)
        run.seat = self._processes.submit(
            run.lease,
            lambda: self._begin(run, self.time.of(run, task)),
            lambda told: self._finish_apart(run, told),
        )

    def _begin(self, run: Run, limit: float | None) -> None:
        """The handler is about to take its first step: its time runs, and its start counts."""
        self.time.begin(run, limit)
        run.began = self._clock.wall()
        if self._journal is not None and self._places:
            run.place = self._places.pop()
            self._journal.begin(run.place, run.lease.id, run.lease.starts)

    def _strike(self, run: Run) -> None:
        """Out of the journal, now that the outcome is safe: a process may die of what a handler has left behind."""
        if self._journal is not None and run.place >= 0:
            self._journal.clear(run.place)
            self._places.append(run.place)
            run.place = -1

    def _enter(self, run: Run) -> bool:
        """Whether a coroutine may begin: not if its run was taken from here and given back."""
        run.entered = True
        mine = self.launched.take(run)
        run.settled = run.settled or not mine
        return mine

    # -- in the handler ------------------------------------------------------------------------------------

    async def _attempt(self, run: Run, task: TaskDef, arguments: Arguments) -> None:
        if not self._enter(run):
            return self._finish(run)
        try:
            if run.lease.asked and run.context is not None:
                await run.context.look_back()
            args, kwargs = with_context(run.context, arguments)
            run.packed = pack(task, await task.handler(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - even SystemExit is data about the job
            run.error = error
        run.ended = self._clock.monotonic()
        self._finish(run)

    async def _surrounded(self, run: Run, task: TaskDef, arguments: Arguments) -> None:
        """On the loop: what stands around a handler that runs off it."""
        if not self._enter(run):
            return self._finish(run)
        try:
            run.packed = await surrounded(task, run.context, arguments, Errand(run, self, self._pool))
        except BaseException as error:  # noqa: BLE001 - as above
            run.error = error
        run.ended = self._clock.monotonic()
        self._finish(run)

    def _call(self, run: Run, task: TaskDef, arguments: Arguments) -> None:
        try:
            run.packed = call(task, run.context, arguments)
        except BaseException as error:  # noqa: BLE001 - as above, in a thread
            run.error = error
        run.ended = self._clock.monotonic()

    # -- ending --------------------------------------------------------------------------------------------

    def _ended_apart(self, run: Run, told: Told) -> None:
        """A process has told how its handler ended, or has died."""
        if isinstance(told, Returned):
            run.packed, run.follow_ups = (told.value, told.codec), told.follow_ups
        else:
            run.raised = told.raised
        run.closing = told.closing
        self._ended(run)

    def _ended(self, run: Run) -> None:
        """The handler has ended: free its slot, and say how, unless that was said before."""
        task = run.task
        assert task is not None
        self.slots.give_back(run, task.executor)
        self.finished[task.executor] += 1
        self.time.end(run)
        if run.doom is None and run.ended > run.due:
            # It has blocked the loop, or another has: nobody could tell it to end.
            run.doom = self._too_late(run)
        if not run.settled:
            self._record(run, self._judged(run, task))
        self.strays.pop(run, None)
        run.slot = -1
        run.error = None
        self._freed()

    def _judged(self, run: Run, task: TaskDef) -> End:
        what = run.raised if run.error is None else raised(run.error, task.retry)
        if what is None and run.doom is not Doom.TIMEOUT and run.doom is not Doom.DEADLINE:
            return ends.after_success()
        if run.doom is not None:
            return self._doomed(run)
        assert what is not None
        return after_raised(what, run.lease, task, self._chance)

    def _record(self, run: Run, end: End) -> None:
        run.settled = True
        if run.doom is Doom.LOST:
            return
        lease, done = run.lease, end.outcome is Outcome.SUCCEEDED
        data, codec = run.packed if run.packed and done else (None, "json")
        # Taken whatever the end is: who asks for more from now on is told that it is too late.
        follow_ups = run.take_follow_ups()
        close = run.closing if run.context is None else run.context.closing
        self._settle(
            Settlement(
                lease.id, lease.starts, end.outcome, end.state, end.delay, data, codec, end.failure, run.began,
                follow_ups if done else (), close,
            )
        )  # fmt: skip

    # -- telling runs to end -------------------------------------------------------------------------------

    def _expired(self, run: Run) -> None:
        run.bucket = -1
        if run.doom is not None:
            self._overran(run)
            return
        if run.ended:
            # In time or not, its end is on its way to the loop.
            return
        self.doom(run, self._too_late(run))
        # A thread cannot be interrupted: its outcome is settled now, its slot stays taken until it ends.
        if run.handle is None and run.seat is None:
            self._leave(run)

    def _too_late(self, run: Run) -> Doom:
        deadline = run.lease.deadline
        passed = deadline is not None and self._clock.wall() >= deadline
        return Doom.DEADLINE if passed else Doom.TIMEOUT

    def doom(self, run: Run, doom: Doom, why: str = "") -> None:
        """Tell a started run to end, once; the first doom and its reason count, but for a lost session."""
        told = run.doom is not None
        if not told or doom is Doom.LOST:
            run.doom, run.why = doom, why
        if run.context is not None:
            run.context.stop()
        if run.seat is not None:
            self._end_apart(run, run.seat, told)
            return
        # Orders are repeated with each beat: a second cancellation would cut off what the first has begun.
        if told or run.handle is None:
            return
        run.handle.cancel()
        if not run.entered:
            # Cancelled before its first step, a coroutine never runs: nobody else would end this run.
            self._enter(run)
            run.error = asyncio.CancelledError()
            self._ended(run)
        else:
            self.time.grant(run, OVERRUN)

    def _end_apart(self, run: Run, seat: Seat, told: bool) -> None:
        """A process is asked first if its handler could notice, and killed if it does not end."""
        if run.doom is Doom.LOST or (not told and run.task is not None and not run.task.takes_context):
            seat.kill("its job had to end")
        elif not told:
            seat.halt()
            self.time.grant(run, LAST_CHANCE)

    def _overran(self, run: Run) -> None:
        if run.seat is None:
            self._abandon(run)
        else:
            run.seat.kill("its job did not end when it was told to")

    def hand_back(self, run: Run) -> None:
        """The worker ends: settle a run as released although its handler goes on; one in a process does not."""
        if run.seat is not None:
            run.seat.kill("the worker ends")
        if not run.settled:
            run.doom = Doom.DRAIN
            self._record(run, self._doomed(run))

    def _abandon(self, run: Run) -> None:
        """Settle a doomed run whose handler does not end; its slot stays taken until it does."""
        why = "" if run.doom is None else run.doom.value
        log.error("%s ignores that it should end (%s); its slot stays taken", label(run.lease), why)
        if not run.settled:
            self._leave(run)

    def _leave(self, run: Run) -> None:
        """Settle a run whose handler goes on, and remember since when."""
        self.strays[run] = self.loop.time()
        self._record(run, self._doomed(run))

    def _doomed(self, run: Run) -> End:
        assert run.task is not None
        return after_doom(run.doom, run.lease, run.task, self._chance, run.why)

    def unfinished(self) -> list[Run]:
        """Runs whose handlers have begun and whose outcomes are open."""
        return [run for run in self.held.values() if run.slot >= 0 and not run.settled]

    def lose(self) -> None:
        """The session is lost: tell every handler to end, and forget them all."""
        runs, self.held = self.held, {}
        for run in runs.values():
            run.place = -1
            if run.slot >= 0:
                self.doom(run, Doom.LOST)

    def close(self) -> None:
        """No time limit fires any more, and nothing waits for threads."""
        self.closed = True
        self.time.close()
