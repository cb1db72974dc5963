"""What a second worker process adds: the same queue emptied by one, and by two on the same file.

The rate is that between the end of the first handler and the record of the last outcome, over both.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from bench.child import BenchError
from bench.figures import Metric, Reading
from bench.side import Side
from bench.subject import Arena
from bench.subjects.drain import PATIENCE
from bench.tally import COUNT, FIRST, Tally, wait_for_all

ONE: Final = Metric("pair.one", "Drain of four times as many, one worker process", "jobs/s", higher=True)
TWO: Final = Metric("pair.two", "The same by two worker processes", "jobs/s", higher=True)


class Pair:
    """Four times as many jobs as in a drain, so that the start of the second process weighs little."""

    name = "pair"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Drain with one process, then with two."""
        n = 4 * arena.scale.jobs
        return [
            Reading(ONE, _drain(side, arena, n, processes=1), n),
            Reading(TWO, _drain(side, arena, n, processes=2), n),
        ]


def _drain(side: Side, arena: Arena, n: int, *, processes: int) -> float:
    store = arena.store(f"store-{processes}")
    side.enqueue(store, n, ids=store.folder / "ids")
    tallies: list[Tally] = []
    with ExitStack() as working:
        for each in range(processes):
            path, tally = arena.tally(f"tally-{processes}-{each}")
            tallies.append(tally)
            working.enter_context(side.working(store, path))
        wait_for_all(tallies, n, PATIENCE, f"drain by {processes} processes")
    ran = [int(tally.numbers[COUNT]) for tally in tallies]
    if sum(ran) != n or not all(ran):
        raise BenchError(f"{side.name}: {n} jobs ran {ran} times")
    first = min(tally.numbers[FIRST] for tally in tallies)
    return (n - 1) / ((side.check(store, store.folder / "ids", n)["last"] - first) / 1e9)
