"""The limits of queues, as rows hold them, and what follows from them for a job that waits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from noria.backends.contract import Limit, QueueLimits, Want
from noria.backends.sql.rows import encode
from noria.backends.units import earlier, millis, millis_or_none
from noria.model.job import rank
from noria.model.limits import AGEING
from noria.model.queue import backs_up
from noria.model.state import EDITABLE, State
from noria.model.wording import count

NONE: Final = "[]"
"""What is read where no queue has limits."""

Rooms = Mapping[str, int]
"""For each queue that is bounded, how many more jobs it may have."""

Sizes = Collection[tuple[str, int, int]]
"""Queues, states, and how many jobs there are."""


class Bounds(Struct, array_like=True, frozen=True):
    """A row of `limits.sql`; times are in milliseconds."""

    queue: str
    newest: int = 0
    ageing: int | None = None
    max_age: int | None = None
    max_length: int | None = None
    concurrency: int | None = None
    high_water: dict[str, int] | None = None

    @property
    def shapes(self) -> bool:
        """Whether it makes a difference to a job that is enqueued."""
        return bool(self.newest) or not (
            self.ageing is None and self.max_age is None and self.max_length is None
        )

    def rank(self, due: int, priority: int) -> int:
        """The place of a job that is due then."""
        ageing = AGEING if self.ageing is None else self.ageing / 1000
        return rank(due / 1000, priority, ageing, newest=bool(self.newest))

    def lapse(
        self, due: int, expires: int | None, deadline: int | None, *, begun: bool = False
    ) -> int | None:
        """When a job that waits ends as expired: what has begun once is bounded by its deadline alone."""
        if begun:
            return deadline
        too_old = None if self.max_age is None else due + self.max_age
        return earlier(too_old, earlier(expires, deadline))

    @property
    def limits(self) -> QueueLimits:
        """As the contract has them."""
        return QueueLimits(
            order="newest" if self.newest else "oldest",
            ageing=AGEING if self.ageing is None else self.ageing / 1000,
            max_age=None if self.max_age is None else self.max_age / 1000,
            max_length=self.max_length,
            concurrency=self.concurrency,
            high_water=self.high_water,
        )


def columns_of(change: Limit) -> list[object]:
    """A change as `limit.sql` takes it: for each column whether it changes, and its new value."""
    named = change.named()
    ageing, marks = named.get("ageing"), named.get("high_water")
    values: dict[str, object] = {
        "order": int(named.get("order") == "newest"),
        "ageing": None if ageing is None or ageing == AGEING else millis(ageing),
        "max_age": millis_or_none(named.get("max_age")),
        "max_length": named.get("max_length"),
        "concurrency": named.get("concurrency"),
        "high_water": None if marks is None else encode(marks),
    }
    return [each for field, value in values.items() for each in (int(field in named), value)]


def length_of(sizes: Sizes, queue: str) -> int:
    """How many jobs of a queue wait, as `max_length` counts them."""
    return sum(n for name, state, n in sizes if name == queue and state in EDITABLE)


def full(bounds: Bounds) -> str:
    """Why a queue takes no further job."""
    most = bounds.max_length or 0
    return f"queue {bounds.queue!r} is full: {count(most, 'job')} may wait in it; enqueue it again later"


def running_of(sizes: Sizes, queue: str) -> int:
    """How many jobs of a queue run."""
    return sum(n for name, state, n in sizes if name == queue and state == State.RUNNING)


def capped_among(bounds: Mapping[str, Bounds], wants: Sequence[Want]) -> dict[str, int]:
    """The queues of these wants of which only so many jobs may run."""
    found = {want.queue: bounds[want.queue].concurrency for want in wants if want.queue in bounds}
    return {queue: most for queue, most in found.items() if most is not None}


def marked_by(bounds: Mapping[str, Bounds], queues: Collection[str]) -> set[str]:
    """The queues on whose high water it depends whether one of these is leased."""
    marks = (bounds[queue].high_water for queue in queues if queue in bounds)
    return {other for each in marks for other in each or ()}


def held_among(bounds: Mapping[str, Bounds], queues: Collection[str], sizes: Sizes) -> set[str]:
    """Those of these queues that are held while another backs up."""
    states: dict[str, dict[int, int]] = {}
    for name, state, n in sizes:
        there = states.setdefault(name, {})
        there[state] = there.get(state, 0) + n
    return {
        queue
        for queue in queues
        if queue in bounds
        for other, most in (bounds[queue].high_water or {}).items()
        if backs_up(states.get(other, {}), most)
    }
