"""How long runs may take: time limits, which stand still while a run asks, and deadlines, which never do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from noria.clock import Clock
from noria.model.limits import MAX_DELAY
from noria.model.task import TaskDef
from noria.worker.held import Run
from noria.worker.wheel import TICK, Wheel

_NEVER = float("inf")


class Allowance:
    """Calls `expired` for each run whose time is over.

    Args:
        expired: gets the run, whose time is not watched any more by then.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, expired: Callable[[Run], None]) -> None:
        self._loop = loop
        self._clock = clock
        self._wheel: Wheel[Run] = Wheel(loop, expired)

    def of(self, run: Run, task: TaskDef) -> float | None:
        """Seconds that the run may take; none are left if its deadline is past."""
        extras = run.lease.extras
        limit = task.timeout if extras.timeout is None else extras.timeout
        if limit is None:
            return self._within_deadline(run, None)
        # What a producer of another kind has stored may be any number.
        limit = max(TICK, min(limit, MAX_DELAY))
        run.ends = self._clock.monotonic() + limit
        return self._within_deadline(run, limit)

    def begin(self, run: Run, limit: float | None) -> None:
        """The time of a run goes on from here: it may take so many seconds more."""
        if limit is not None:
            run.bucket = self._wheel.add(self._loop.time() + limit, run)
            run.due = self._clock.monotonic() + limit

    def end(self, run: Run) -> None:
        """Nobody watches the time of this run any more."""
        if run.bucket >= 0:
            self._wheel.remove(run.bucket, run)
            run.bucket = -1

    def grant(self, run: Run, seconds: float) -> None:
        """A run that was told to end has so much time for it."""
        self.end(run)
        run.bucket = self._wheel.add(self._loop.time() + seconds, run)

    def pause(self, run: Run) -> None:
        """The time limit stands still; the deadline does not."""
        run.rest = None if run.ends == _NEVER else max(TICK, run.ends - self._clock.monotonic())
        self._go_on(run, None)

    def go_on(self, run: Run) -> None:
        """What was left of the time limit when it was paused is left now."""
        self._go_on(run, run.rest)

    def _go_on(self, run: Run, limit: float | None) -> None:
        if run.doom is not None:
            return  # it was granted what it has
        self.end(run)
        run.due, run.ends = _NEVER, _NEVER if limit is None else self._clock.monotonic() + limit
        limit = self._within_deadline(run, limit)
        self.begin(run, None if limit is None else max(0.0, limit))

    def _within_deadline(self, run: Run, limit: float | None) -> float | None:
        if run.lease.deadline is None:
            return limit
        left = run.lease.deadline - self._clock.wall()
        return left if limit is None else min(limit, left)

    def close(self) -> None:
        """No time is over any more."""
        self._wheel.close()
