"""What is known around a job when somebody asks why it does not run; and how its times are told."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from noria.app.questionbook import QuestionBook
from noria.backends.contract import Backend, Counts
from noria.clock import utc
from noria.model.groups import GroupLine, ResourceLine
from noria.model.job import Record
from noria.model.outcome import Failure
from noria.model.question import Question
from noria.model.state import EDITABLE, State

MOST_AHEAD: Final = 10_000
"""To which number the jobs before one are counted."""


class Scene(Struct, frozen=True):
    """What is around a job.

    Attributes:
        counts: the queues and live workers.
        now: seconds since the epoch.
        question: what the job asks, if it asks.
        group: how its group stands, if it has one that is in use.
        resources: those that it needs.
        place: how many jobs are to be leased before it, counted to `MOST_AHEAD`; None if it is in no line.
    """

    counts: Counts
    now: float
    place: int | None = None
    question: Question | None = None
    group: GroupLine | None = None
    resources: tuple[ResourceLine, ...] = ()


async def look_around(backend: Backend, record: Record, now: float) -> Scene:
    """Read what is around a job; only what can concern one in its state."""
    in_line = record.state in (State.QUEUED, State.WAITING)
    place = await backend.place(record.id, MOST_AHEAD) if in_line else None
    question = await QuestionBook(backend, lambda: now).of(record)
    group = None
    if record.group is not None and record.state in EDITABLE:
        [group] = await backend.group([record.group])
    resources = await backend.resources() if record.needs and record.state is State.QUEUED else []
    needed = tuple(line for line in resources if line.need.name in record.needs)
    return Scene(await backend.counts(), now, place, question, group, needed)


def because(failure: Failure | None) -> str:
    """What went wrong, in brackets, if anything did."""
    if failure is None:
        return ""
    text = f"{failure.type}: {failure.message}" if failure.type else failure.message or failure.reason
    return f" ({' '.join(text.split())[:200]})"


def when(at: float, now: float) -> str:
    """A time, and how far away it is."""
    gap = at - now
    return f"{utc(at):%Y-%m-%d %H:%M:%S} UTC ({'in ' + span(gap) if gap > 0 else span(-gap) + ' ago'})"


def span(seconds: float) -> str:
    """A duration to about two digits."""
    seconds = seconds if seconds > 0 else 0.0
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
