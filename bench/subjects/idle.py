"""What a worker process costs that has nothing to do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from bench import process
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena

RESIDENT: Final = Metric("idle.rss", "Resident memory of an idle worker process", "MiB")
CPU: Final = Metric("idle.cpu", "CPU time of an idle worker process", "%")
_SETTLE: Final = 1.0
"""Seconds between the last job and the first look."""


class Idle:
    """The worker has done one job, so that all its parts are there, and then waits."""

    name = "idle"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Look at its memory, and at the CPU time that it uses over some seconds."""
        store, seconds = arena.store(), arena.scale.idle
        path, tally = arena.tally()
        side.enqueue(store, 1)
        with side.working(store, path) as worker:
            tally.wait_for(1, 60, "first job")
            time.sleep(_SETTLE)
            memory = process.resident(worker.pid)
            used, began = process.cpu_seconds(worker.pid), time.monotonic()
            time.sleep(seconds)
            used = process.cpu_seconds(worker.pid) - used
            share = 100 * used / (time.monotonic() - began)
        return [Reading(RESIDENT, memory, 1), Reading(CPU, share, round(seconds))]
