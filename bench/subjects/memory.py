"""Whether jobs that wait cost memory in a worker: its growth while many delayed jobs are enqueued."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from bench import process
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena

GROWTH: Final = Metric("delayed.growth", "Worker's memory for jobs delayed by an hour", "MiB")
_HOUR: Final = 3_600.0
_SETTLE: Final = 2.0
"""Seconds in which a worker that wants to look at new jobs has looked."""


class Delayed:
    """The worker has done one job and is idle while another process enqueues."""

    name = "delayed"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Compare its memory before and after."""
        store, n = arena.store(), arena.scale.delayed
        path, tally = arena.tally()
        side.enqueue(store, 1)
        with side.working(store, path) as worker:
            tally.wait_for(1, 60, "first job")
            time.sleep(_SETTLE)
            before = process.resident(worker.pid)
            side.enqueue(store, n, delay=_HOUR)
            time.sleep(_SETTLE)
            growth = process.resident(worker.pid) - before
        return [Reading(GROWTH, growth, n)]
