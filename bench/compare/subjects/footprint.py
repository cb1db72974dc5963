"""What a worker costs that has nothing to do: its start to the end of its first job, and its memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench import process
from bench.compare.contestant import Contestant
from bench.figures import Metric, Reading
from bench.subject import Arena
from bench.subjects.start import START
from bench.tally import FIRST

MEMORY: Final = Metric("idle.memory", "Memory of an idle worker", "MiB")
_SETTLE: Final = 2.0
"""Seconds after its first job in which a worker has become idle."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """One job waits; a worker is started as its users start it, with all processes that it takes."""

    sides: tuple[str, ...]
    name: str = "idle"

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Start one worker, and look at it when it has done its job."""
        path, tally = arena.tally()
        with side.opened(arena) as store:
            side.enqueue(store, 1)
            with side.working(store, path) as worker:
                tally.wait_for(1, 60, "first job", worker.check)
                time.sleep(_SETTLE)
                memory = process.resident_family(worker.pid)
        return [
            Reading(START, (tally.numbers[FIRST] - worker.started) / 1e9, 1),
            Reading(MEMORY, memory, 1),
        ]


def subjects(all_sides: Sequence[Contestant]) -> list[Footprint]:
    """All of them."""
    return [Footprint(tuple(each.name for each in all_sides))]
