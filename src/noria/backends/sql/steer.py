"""Steering: queues are paused and resumed. A pause is a row that leases look at, and nothing is done to the jobs."""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import Pause, Paused, QueueRef, Resume, Steered
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis_or_none, seconds_or_none


@dataclass(slots=True)
class Steer(Call):
    """The call."""

    target: QueueRef
    change: Pause | Resume

    def run(self, work: Transaction) -> Steered:
        """Pause or resume a queue."""
        queue, change = self.target.queue, self.change
        work.run("pauses_drop", work.now)
        if isinstance(change, Pause):
            until = millis_or_none(change.until)
            if until is None or until > work.now:
                work.run("pause", queue, work.now, until, change.reason, change.by)
                return Steered(pauses(work)[queue])
        work.run("resume", queue)
        work.has_work(queue)
        return Steered()


def pauses(work: Transaction) -> dict[str, Paused]:
    """The pauses that hold, by queue."""
    Line = tuple[str, str, str, int, int | None]
    return {
        queue: Paused(reason, by, since / 1000, seconds_or_none(until))
        for queue, reason, by, since, until in decode(work.row("pauses", work.now)[0], list[Line])
    }
