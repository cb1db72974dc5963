"""Running jobs: from a lease to the end of its start.

Whatever a handler raises is data about its job. Only a `Doom` that this file has put on a run steers it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from noria import aio, ids
from noria.clock import Clock
from noria.errors import Cancel, Fail, InvalidArguments, Retry, Snooze
from noria.ids import Id
from noria.model import outcome as ends
from noria.model.backoff import Chance
from noria.model.job import Lease
from noria.model.limits import MAX_DELAY
from noria.model.outcome import End, Failure, Outcome, Settlement
from noria.model.task import Executor, TaskDef
from noria.worker.context import Context
from noria.worker.describe import describe
from noria.worker.journal import Journal
from noria.worker.threads import Threads
from noria.worker.wheel import TICK, Wheel

log = logging.getLogger("noria.worker")

Guard = Callable[[str, Callable[..., None]], Callable[..., None]]
"""(name of the part, callback) -> a callback whose failure is heard of."""

OVERRUN: Final = 5.0
"""Seconds that a coroutine gets to end after it was told to, before its outcome is settled without it."""


class Doom(Enum):
    """Why a run was told to end."""

    TIMEOUT = "timeout"
    DEADLINE = "deadline"
    CANCEL = "cancelled"
    DRAIN = "released"
    LOST = "lost"


class Run:
    """One start of one job in this process, from its lease until its outcome is recorded."""

    __slots__ = (
        "began", "bucket", "context", "doom", "entered", "error", "handle", "lease", "packed", "settled",
        "since", "slot", "task",
    )  # fmt: skip

    def __init__(self, lease: Lease, task: TaskDef | None, since: float) -> None:
        self.lease = lease
        self.task = task
        self.since = since
        self.began = 0.0
        self.slot = -1
        self.bucket = -1
        self.entered = False
        self.settled = False
        self.doom: Doom | None = None
        self.context: Context | None = None
        self.handle: asyncio.Task[None] | None = None
        self.error: BaseException | None = None
        self.packed: tuple[bytes, str] | None = None


class Runner:
    """Runs handlers in slots: `async def` on the loop, `def` in threads.

    A slot is free when its handler has ended; the outcome may still wait to be recorded.

    Args:
        tasks: the tasks this worker knows.
        concurrency, threads: slots of each kind.
        settle: takes the settlement of each start.
        freed: called when a slot has become free.
        chance: for the jitter of backoffs.
        guarded: wraps what the loop calls, so that a fault in it ends the worker and is not only logged.
    """

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        tasks: Mapping[str, TaskDef],
        concurrency: int,
        threads: int,
        pool: Threads,
        clock: Clock,
        chance: Chance,
        settle: Callable[[Settlement], None],
        freed: Callable[[], None],
        guarded: Guard,
    ) -> None:
        self.loop = loop
        self._tasks = tasks
        self._pool = pool
        self._clock = clock
        self._chance = chance
        self._settle = settle
        self._freed = freed
        self._base = contextvars.copy_context()
        self._wheel: Wheel[Run] = Wheel(loop, guarded("time limits", self._expired))
        self._finish = guarded("run", self._ended)
        self._slots = list(range(concurrency + threads))
        self.free: dict[Executor, int] = {"async": concurrency, "thread": threads}
        self.held: dict[Id, Run] = {}
        self.suspects = 0
        self.finished: dict[Executor, int] = {"async": 0, "thread": 0}
        self.state: Any = None
        self.journal: Journal | None = None

    # -- starting ------------------------------------------------------------------------------------------

    def take(self, lease: Lease) -> Run:
        """Make a run of a lease; it is held until `forget`."""
        run = Run(lease, self._tasks.get(lease.task), self.loop.time())
        self.held[lease.id] = run
        return run

    def forget(self, id: Id, starts: int) -> None:
        """The outcome of this start is recorded, or refused: the session holds it no more."""
        run = self.held.get(id)
        if run is not None and run.lease.starts == starts:
            del self.held[id]

    def refuse(self, run: Run, end: End) -> None:
        """End a run that has not begun."""
        self._record(run, end)

    def start(self, run: Run) -> None:
        """Begin a run; the caller has seen that a slot of its kind is free and the task is known."""
        task = run.task
        assert task is not None
        try:
            arguments = task.unpack(run.lease.body, run.lease.codec)
            limit = self._limit(run, task)
        except BaseException as error:  # noqa: BLE001 - a class of the user's may raise anything in decoding
            final = isinstance(error, InvalidArguments)
            failure = describe(error, "arguments" if final else "exception")
            self._record(run, self._failed(run, failure, final=final))
            return
        if limit is not None and limit <= 0:
            self._record(run, ends.after_deadline(_deadline_passed()))
            return
        if limit is not None:
            run.bucket = self._wheel.add(self.loop.time() + limit, run)
        self._occupy(run, task)
        if task.executor == "async":
            work = self._attempt(run, task, *arguments)
            run.handle = aio.launch(self.loop, work, self._base.copy())
        else:
            self._pool.submit(lambda: self._call(run, task, *arguments), lambda: self._finish(run))

    def _limit(self, run: Run, task: TaskDef) -> float | None:
        """Seconds that the run may take; none are left if its deadline is past."""
        lease = run.lease
        limit = task.timeout if lease.extras.timeout is None else lease.extras.timeout
        if limit is not None:
            # What a producer of another kind has stored may be any number.
            limit = max(TICK, min(limit, MAX_DELAY))
        if lease.deadline is None:
            return limit
        left = lease.deadline - self._clock.wall()
        return left if limit is None else min(limit, left)

    def _occupy(self, run: Run, task: TaskDef) -> None:
        lease = run.lease
        self.free[task.executor] -= 1
        self.suspects += lease.tally.suspect
        run.slot = self._slots.pop()
        run.began = self._clock.wall()
        if task.takes_context:
            run.context = Context(lease, self.state, self._clock.wall)
        if self.journal is not None:
            self.journal.begin(run.slot, lease.id, lease.starts)

    # -- in the handler ------------------------------------------------------------------------------------

    async def _attempt(self, run: Run, task: TaskDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        run.entered = True
        try:
            if run.context is not None:
                args = (run.context, *args)
            value = await task.handler(*args, **kwargs)
            run.packed = _pack(task, value)
        except BaseException as error:  # noqa: BLE001 - even SystemExit is data about the job
            run.error = error
        self._finish(run)

    def _call(self, run: Run, task: TaskDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            if run.context is not None:
                args = (run.context, *args)
            run.packed = _pack(task, task.handler(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - as above, in a thread
            run.error = error

    # -- ending --------------------------------------------------------------------------------------------

    def _ended(self, run: Run) -> None:
        """The handler has ended: free its slot, and say how, unless that was said before."""
        task = run.task
        assert task is not None
        if self.journal is not None:
            self.journal.clear(run.slot)
        self._slots.append(run.slot)
        self.free[task.executor] += 1
        self.suspects -= run.lease.tally.suspect
        self.finished[task.executor] += 1
        if run.bucket >= 0:
            self._wheel.remove(run.bucket, run)
        if not run.settled:
            self._record(run, self._judged(run))
        run.slot = -1
        run.error = None
        self._freed()

    def _judged(self, run: Run) -> End:
        try:
            return self._end_of(run)
        except BaseException as error:  # noqa: BLE001 - odd enough to break judging, still only data
            return self._failed(run, describe(error))

    def _end_of(self, run: Run) -> End:
        if run.error is None and run.doom is not Doom.TIMEOUT and run.doom is not Doom.DEADLINE:
            return ends.after_success()
        if run.doom is not None:
            return self._doomed(run)
        assert run.error is not None
        return self._raised(run, run.error)

    def _raised(self, run: Run, error: BaseException) -> End:
        match error:
            case Snooze():
                # Made anew, since its attributes may have been set to anything since it was made.
                delay = Snooze(error.delay).delay
                return ends.after_snooze(run.lease.tally, delay, describe(error, "snoozed"))
            case Cancel():
                return ends.after_cancel(describe(error, "cancelled"))
            case Fail():
                return self._failed(run, describe(error, "fail"), final=True)
            case Retry():
                return self._failed(run, describe(error, "retry"), after=Retry(after=error.after).after)
            case Unpackable():
                return self._failed(run, describe(error.cause, "result"), final=True)
            case _:
                never = self._backoff(run, own=False).refuses(error)
                return self._failed(run, describe(error), final=never)

    def _failed(self, run: Run, failure: Failure, *, after: float | None = None, final: bool = False) -> End:
        backoff = self._backoff(run)
        return ends.after_failure(run.lease.tally, failure, backoff, self._chance, after=after, final=final)

    def _backoff(self, run: Run, *, own: bool = True) -> Any:
        assert run.task is not None
        return (run.lease.extras.retry if own else None) or run.task.retry

    def _record(self, run: Run, end: End) -> None:
        run.settled = True
        if run.doom is Doom.LOST:
            return
        data, codec = run.packed if run.packed and end.outcome is Outcome.SUCCEEDED else (None, "json")
        lease = run.lease
        self._settle(
            Settlement(
                lease.id, lease.starts, end.outcome, end.state, end.delay, data, codec, end.failure, run.began
            )
        )

    # -- telling runs to end -------------------------------------------------------------------------------

    def _expired(self, run: Run) -> None:
        run.bucket = -1
        if run.doom is not None:
            self._abandon(run)
            return
        deadline = run.lease.deadline
        late = deadline is not None and self._clock.wall() >= deadline
        self.doom(run, Doom.DEADLINE if late else Doom.TIMEOUT)
        # A thread cannot be interrupted: its outcome is settled now, its slot stays taken until it ends.
        if run.handle is None:
            self._record(run, self._doomed(run))

    def doom(self, run: Run, doom: Doom) -> None:
        """Tell a started run to end, once; the first doom counts, but for a lost session."""
        told = run.doom is not None
        if not told or doom is Doom.LOST:
            run.doom = doom
        if run.context is not None:
            run.context.stop()
        # Orders are repeated with each beat: a second cancellation would cut off what the first has begun.
        if told or run.handle is None:
            return
        run.handle.cancel()
        if not run.entered:
            # Cancelled before its first step, a coroutine never runs: nobody else would end this run.
            run.entered, run.error = True, asyncio.CancelledError()
            self._ended(run)
        else:
            self._wheel.remove(run.bucket, run)
            run.bucket = self._wheel.add(self.loop.time() + OVERRUN, run)

    def hand_back(self, run: Run) -> None:
        """The worker ends: settle a run as released although its handler goes on."""
        if not run.settled:
            run.doom = Doom.DRAIN
            self._record(run, self._doomed(run))

    def _abandon(self, run: Run) -> None:
        """Settle a doomed run whose handler does not end; its slot stays taken until it does."""
        log.error("%s ignores that it should end (%s); its slot stays taken", label(run.lease), run.doom)
        if not run.settled:
            self._record(run, self._doomed(run))

    def _doomed(self, run: Run) -> End:
        tally, task = run.lease.tally, run.lease.task
        match run.doom:
            case Doom.CANCEL:
                return ends.after_cancel(Failure.of("cancelled", f"{task} was cancelled while it ran"))
            case Doom.DEADLINE:
                return ends.after_deadline(_deadline_passed())
            case Doom.TIMEOUT:
                failure = Failure.of("timeout", f"{task} ran longer than its time limit")
                backoff = self._backoff(run)
                return ends.after_failure(tally, failure, backoff, self._chance, outcome=Outcome.TIMED_OUT)
            case _:
                return ends.after_release(
                    tally, Failure.of("released", "the worker was stopped while it ran")
                )

    def unfinished(self) -> list[Run]:
        """Runs whose handlers have begun and whose outcomes are open."""
        return [run for run in self.held.values() if run.slot >= 0 and not run.settled]

    def lose(self) -> None:
        """The session is lost: tell every handler to end, and forget them all."""
        runs, self.held = self.held, {}
        for run in runs.values():
            if run.slot >= 0:
                self.doom(run, Doom.LOST)

    def close(self) -> None:
        """No time limit fires any more."""
        self._wheel.close()


class Unpackable(Exception):
    """Wraps what the encoder raised, to tell it from what the handler raised."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _pack(task: TaskDef, value: Any) -> tuple[bytes, str]:
    try:
        return task.pack_result(value)
    except Exception as error:
        raise Unpackable(error) from error


def _deadline_passed() -> Failure:
    return Failure.of("deadline", "the job's deadline passed before it had ended")


def label(lease: Lease) -> str:
    """A job as the log names it."""
    return f"{lease.task} {ids.to_text(lease.id)}"
