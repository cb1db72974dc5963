"""How well waiting jobs overlap: the time for jobs that sleep 0.1 s each, many at once.

huey runs each job in a thread or process of its own and is not asked to run five hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.child import BenchError
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena
from bench.tally import BEGUN, COUNT, LAST

NAPS: Final = Metric("naps.seconds", "Jobs that sleep 0.1 s, concurrency a tenth of their number", "s")


class Naps:
    """The naps are queued first; the time is from the first one's beginning to the last one's end."""

    name = "naps"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Let them all sleep."""
        store, n = arena.store(), arena.scale.naps
        path, tally = arena.tally()
        side.enqueue(store, n, task="nap", ids=store.folder / "ids")
        with side.working(store, path, slots=arena.scale.nap_slots):
            tally.wait_for(n, 120, "naps")
        if tally.numbers[COUNT] != n:
            raise BenchError(f"{side.name}: {n} naps ran {tally.numbers[COUNT]} times")
        side.check(store, store.folder / "ids", n)
        return [Reading(NAPS, (tally.numbers[LAST] - tally.numbers[BEGUN]) / 1e9, n)]
