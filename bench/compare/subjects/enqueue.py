"""How fast one producer enqueues on an empty server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.compare.contestant import Contestant
from bench.figures import Metric, Reading
from bench.side import Way
from bench.subject import Arena
from bench.subjects.enqueue import AT_ONCE, IN_BULK, ONE_BY_ONE


@dataclass(frozen=True, slots=True)
class Enqueue:
    """One of the ways to enqueue, for the contestants that have it."""

    name: str
    sides: tuple[str, ...]
    metric: Metric
    way: Way

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Enqueue; nobody works meanwhile."""
        n = arena.scale.singles if self.way == "one by one" else side.jobs(arena.scale.jobs)
        with side.opened(arena) as store:
            return [Reading(self.metric, n / side.enqueue(store, n, self.way), n)]


def subjects(all_sides: Sequence[Contestant]) -> list[Enqueue]:
    """All of them."""
    await_it = tuple(each.name for each in all_sides if "awaits" not in each.lacks)
    in_bulk = tuple(each.name for each in all_sides if "bulk" not in each.lacks)
    return [
        Enqueue("enqueue", tuple(each.name for each in all_sides), ONE_BY_ONE, "one by one"),
        Enqueue("callers", await_it, AT_ONCE, "100 at once"),
        Enqueue("bulk", in_bulk, IN_BULK, "bulk"),
    ]
