"""Steering: queues are paused and resumed, and get limits. Both are rows to look at; nothing is done to the jobs."""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import Limit, Pause, Paused, QueueRef, Resume, Steered
from noria.backends.sql.bounds import columns_of
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis_or_none, seconds_or_none


@dataclass(slots=True)
class Steer(Call):
    """The call."""

    target: QueueRef
    change: Pause | Resume | Limit

    def run(self, work: Transaction) -> Steered:
        """Pause or resume a queue, or change its limits."""
        queue, change = self.target.queue, self.change
        work.run("pauses_drop", work.now)
        if isinstance(change, Limit):
            _limit(work, queue, change)
        else:
            _pause(work, queue, change)
        return Steered(pauses(work).get(queue), work.bounds_of(queue).limits)


def _pause(work: Transaction, queue: str, change: Pause | Resume) -> None:
    if isinstance(change, Pause):
        until = millis_or_none(change.until)
        if until is None or until > work.now:
            work.run("pause", queue, work.now, until, change.reason, change.by)
            return
    work.run("resume", queue)
    work.has_work(queue)


def _limit(work: Transaction, queue: str, change: Limit) -> None:
    work.run("limit", queue, *columns_of(change))
    work.run("limits_drop", queue)
    work.forget_bounds()
    work.has_work(queue)


def pauses(work: Transaction) -> dict[str, Paused]:
    """The pauses that hold, by queue."""
    Line = tuple[str, str, str, int, int | None]
    return {
        queue: Paused(reason, by, since / 1000, seconds_or_none(until))
        for queue, reason, by, since, until in decode(work.row("pauses", work.now)[0], list[Line])
    }
