"""How fast a store is that keeps as many ended jobs as it may, so that each new one drops an old one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.child import BenchError
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena
from bench.subjects.drain import PATIENCE, drain

AT_CAP: Final = Metric("cap.rate", "Drain into a store at its retention cap", "jobs/s", higher=True)


class AtCap:
    """The store is filled to its cap by jobs that ran before. huey keeps results until they are read."""

    name = "cap"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Fill the store to its cap, then drain as in `drain`."""
        cap, n = arena.scale.cap, arena.scale.jobs
        store = arena.store(keep=cap)
        side.enqueue(store, cap)
        path, tally = arena.tally("filling")
        with side.working(store, path):
            tally.wait_for(cap, PATIENCE, "filling the store to its cap")
        side.enqueue(store, n, ids=store.folder / "ids")
        rate, _ = drain(side, arena, store, n)
        kept = side.counts(store)["succeeded"]
        if not 0.9 * cap <= kept <= 1.1 * cap:
            raise BenchError(f"the store keeps {kept} records at a cap of {cap}")
        return [Reading(AT_CAP, rate, n)]
