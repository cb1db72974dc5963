"""What a worker holds: the starts of jobs, from their leases until their outcomes are recorded."""

from __future__ import annotations

import asyncio

from noria import ids
from noria.model.job import Lease, NewJob
from noria.model.task import TaskDef
from noria.worker.call import Packed
from noria.worker.context import Context
from noria.worker.judge import Doom
from noria.worker.processes import Seat
from noria.worker.raised import Raised


class Run:
    """One start of one job in this process, from its lease until its outcome is recorded."""

    __slots__ = (
        "away", "began", "bucket", "closing", "context", "doom", "due", "ended", "ends", "entered", "error",
        "follow_ups", "handle", "lease", "packed", "place", "raised", "rest", "seat", "settled", "since", "slot",
        "task", "why",
    )  # fmt: skip

    def __init__(self, lease: Lease, task: TaskDef | None, since: float) -> None:
        self.lease = lease
        self.task = task
        self.since = since
        self.began = 0.0
        self.closing = 0.0
        self.slot = -1
        self.place = -1
        self.bucket = -1
        self.due = self.ends = float("inf")
        # While it asks: without a slot, and with so much of its time limit left.
        self.away = False
        self.rest: float | None = None
        self.ended = 0.0
        self.entered = False
        self.settled = False
        self.doom: Doom | None = None
        self.why = ""
        self.context: Context | None = None
        self.handle: asyncio.Task[None] | None = None
        self.seat: Seat | None = None
        self.error: BaseException | None = None
        self.raised: Raised | None = None
        self.packed: Packed | None = None
        self.follow_ups: tuple[NewJob, ...] = ()

    def take_follow_ups(self) -> tuple[NewJob, ...]:
        """What goes along with its success; no more can be asked for."""
        return self.follow_ups if self.context is None else self.context.take_follow_ups()


def label(lease: Lease) -> str:
    """A job as the log names it."""
    return f"{lease.task} {ids.to_text(lease.id)}"
