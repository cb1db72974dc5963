"""How fast one producer enqueues into an empty store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.figures import Metric, Reading
from bench.side import Side, Way
from bench.subject import Arena

ONE_BY_ONE: Final = Metric("enqueue.single", "Enqueue, one by one", "jobs/s", higher=True)
AT_ONCE: Final = Metric("enqueue.callers", "Enqueue, 100 concurrent awaits", "jobs/s", higher=True)
IN_BULK: Final = Metric("enqueue.bulk", "Enqueue, bulk", "jobs/s", higher=True)


class Singles:
    """One caller, one job a call."""

    name = "enqueue"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Enqueue one after another."""
        return [_enqueue(side, arena, ONE_BY_ONE, "one by one", arena.scale.singles)]


class Callers:
    """A hundred callers at once, as in a web application. huey has no call to await."""

    name = "callers"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Enqueue from 100 coroutines, each one job after another."""
        return [_enqueue(side, arena, AT_ONCE, "100 at once", arena.scale.jobs)]


class Bulk:
    """One call for many jobs. huey has no such call, and enqueues them in a loop."""

    name = "bulk"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Enqueue all at once; describing the jobs counts."""
        return [_enqueue(side, arena, IN_BULK, "bulk", arena.scale.jobs)]


def _enqueue(side: Side, arena: Arena, metric: Metric, way: Way, n: int) -> Reading:
    return Reading(metric, n / side.enqueue(arena.store(), n, way), n)
