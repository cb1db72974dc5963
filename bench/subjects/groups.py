"""What groups cost: a million jobs that wait in a hundred thousand groups, beside jobs without any.

The store of jobs without groups is measured just before the other one, so that both meet the same machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena
from bench.subjects.backlog import filled, rates

ENQUEUE: Final = Metric(
    "groups.enqueue", "Enqueue, bulk, behind a million jobs in 100,000 groups", "jobs/s", higher=True
)
DRAIN: Final = Metric("groups.drain", "Drain with results, off these", "jobs/s", higher=True)
FREE_ENQUEUE: Final = Metric(
    "groups.free_enqueue", "Enqueue, bulk, of jobs without a group", "jobs/s", higher=True
)
FREE_DRAIN: Final = Metric("groups.free_drain", "Drain with results, of these", "jobs/s", higher=True)


class Groups:
    """Each group lets one job run at once, so that nine of ten jobs are in line for a place."""

    name = "groups"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Add n jobs behind the others, then run n; without groups into an empty store, and with them."""
        n, backlog = arena.scale.jobs, arena.scale.backlog
        long = filled(side, arena, self.name, backlog, "bound")
        free_enqueue, free_drain = rates(side, arena, arena.store(), n)
        enqueue, drain = rates(side, arena, long, n, "bound")
        return [
            Reading(ENQUEUE, enqueue, backlog),
            Reading(DRAIN, drain, backlog),
            Reading(FREE_ENQUEUE, free_enqueue, n),
            Reading(FREE_DRAIN, free_drain, n),
        ]
