"""The same jobs for every engine, and what must be true of them after the settle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple, Protocol

SIZE: Final = 500
"""Jobs that one settle ends."""
LIMIT: Final = 2
"""Jobs of one group that may be ready or running at once."""
BEHIND: Final = 8
"""Jobs that wait in a group; in each tenth one only one does, so that a place stays free."""
BODY: Final = '{"url": "https://shop.example/item/4711", "try": 1, "note": "' + "x" * 120 + '"}'
RESULT: Final = '{"price": 1999, "currency": "EUR"}'
SESSION: Final = "5e55107700000000000000000000cafe"


class Shape(NamedTuple):
    """What a settle has to do beside recording outcomes."""

    name: str
    follow_ups: bool = False
    unique: bool = False
    groups: bool = False


SHAPES: Final = (
    Shape("plain"),
    Shape("follow-ups", follow_ups=True),
    Shape("unique free", unique=True),
    Shape("group refill", groups=True),
    Shape("all together", follow_ups=True, unique=True, groups=True),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that is held, waits, or is written by a settle. `id` is 16 bytes as hex; empty texts are none."""

    id: str
    rank: int
    group: str = ""
    unique: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The jobs of one settle.

    Attributes:
        queue: of all its jobs, and of no others.
        held: run, and are settled.
        waiting: in the groups of those, behind the limit.
        follow_ups: one for each held job, or none.
    """

    queue: str
    held: list[Job]
    waiting: list[Job]
    follow_ups: list[Job]


class Found(NamedTuple):
    """What an engine says of a batch.

    Attributes:
        ended: jobs that succeeded and have their result; held: jobs that are still held.
        ready: ids of what may be leased, each as often as it is there.
        stored: how many of those have a body.
        keys: unique keys of the batch that are taken.
        taken: places taken in each of its groups.
        waiting: jobs that still wait in its groups.
    """

    ended: int
    held: int
    ready: Counter[str]
    stored: int
    keys: int
    taken: dict[str, int]
    waiting: int


class Engine(Protocol):
    """A server or file that settles."""

    name: str
    about: str

    def fill(self, batch: Batch) -> None:
        """Store a batch whose jobs are held."""

    def settle(self, batch: Batch) -> str:
        """End all held jobs in one atomic step; a letter for each: o done, a already, s stale."""

    def look(self, batch: Batch) -> Found:
        """What there is now."""

    def server_cpu(self) -> float:
        """Seconds of processor time that its own process has used; 0 if it has none."""


def batches(shape: Shape) -> Iterator[Batch]:
    """Batches without end, no two with a job in common."""
    for number in count():
        yield _batch(shape, f"{shape.name}:{number}")


def expected(batch: Batch) -> Found:
    """What must be there after the settle."""
    waiting: dict[str, list[str]] = {job.group: [] for job in batch.held if job.group}
    for job in batch.waiting:
        waiting[job.group].append(job.id)
    moved = [id for ids in waiting.values() for id in ids[:LIMIT]]
    ready = Counter([*(job.id for job in batch.follow_ups), *moved])
    taken = {group: min(LIMIT, len(ids)) for group, ids in waiting.items()}
    return Found(len(batch.held), 0, ready, len(ready), 0, taken, len(batch.waiting) - len(moved))


def _batch(shape: Shape, queue: str) -> Batch:
    groups = [f"{queue}:{place // LIMIT}" if shape.groups else "" for place in range(SIZE)]
    keys = [f"{queue}:{place}" if shape.unique else "" for place in range(SIZE)]
    held = [Job(_id(), 0, group, key) for group, key in zip(groups, keys, strict=True)]
    behind = [
        Job(_id(), rank, group)
        for place, group in enumerate(dict.fromkeys(filter(None, groups)))
        for rank in range(1 if place % 10 == 0 else BEHIND)
    ]
    follow_ups = [Job(_id(), 1) for _ in held] if shape.follow_ups else []
    return Batch(queue, held, behind, follow_ups)


_NUMBERS = count(1)


def _id() -> str:
    """Ascending, as the ids of jobs are."""
    return f"{next(_NUMBERS):012x}7000800000000000cafe"
