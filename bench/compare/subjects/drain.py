"""How fast one and two worker processes empty a queue, without and with results.

N jobs that only return their argument are queued first, then the workers start. The rate of one worker is that
between the end of the first handler and that of the last, or, for Noria with results, the record of the last outcome.
Afterwards each job must have run exactly once and the server must hold none; with results every one is read back and
compared. With two workers the first handler of each is held until both have got there, and the clock starts when they
are let go, so that the start of the second one weighs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.child import BenchError
from bench.compare.contestant import Contestant
from bench.compare.guarded import Guarded
from bench.figures import Metric, Reading
from bench.side import Store
from bench.subject import Arena
from bench.tally import COUNT, FIRST, HELD, LAST, Tally, let_go, wait_for_all

PATIENCE: Final = 300.0
"""Seconds after which a drain is given up."""
_BEGIN: Final = 30.0
"""Seconds within which a worker begins its first job."""
_SETTLED: Final = 10.0
"""Seconds within which the last outcomes are on the server."""

OFF: Final = Metric("drain.off", "Drain, one worker process, no results", "jobs/s", higher=True)
ON: Final = Metric("drain.on", "Drain, one worker process, results", "jobs/s", higher=True)
OFF_TWO: Final = Metric("drain.off_two", "Drain, two worker processes, no results", "jobs/s", higher=True)
ON_TWO: Final = Metric("drain.on_two", "Drain, two worker processes, results", "jobs/s", higher=True)


@dataclass(frozen=True, slots=True)
class Drain:
    """A drain of one kind."""

    name: str
    sides: tuple[str, ...]
    metric: Metric
    results: bool
    processes: int

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Fill a queue, and let workers empty it."""
        n = side.jobs(arena.scale.jobs, self.processes)
        with side.opened(arena, results=self.results) as store:
            ids = store.folder / "ids"
            side.enqueue(store, n, ids=ids)
            tallies, began = self._work(side, arena, store, n)
            recorded = int(side.check(store, ids, n)["last"]) if self.results else 0
            last = max(recorded, *(tally.numbers[LAST] for tally in tallies))
        # With one worker, the clock starts when the first job has ended.
        counted = n if self.processes > 1 else n - 1
        return [Reading(self.metric, counted / ((last - began) / 1e9), n)]

    def _work(self, side: Contestant, arena: Arena, store: Store, n: int) -> tuple[list[Tally], int]:
        """The numbers of each worker, and when the clock started."""
        began = 0
        with ExitStack() as working:
            found = [arena.tally(f"tally-{each}") for each in range(self.processes)]
            tallies = [tally for _, tally in found]
            for tally in tallies:
                tally.numbers[HELD] = self.processes > 1
            workers = [working.enter_context(side.working(store, path)) for path, _ in found]
            check = partial(_check, workers)
            if self.processes > 1:
                began = let_go(tallies, _BEGIN, check)
            wait_for_all(tallies, n, PATIENCE, f"drain by {self.processes}", check)
            empty(side, store)
        side.check_runs(sum(tally.numbers[COUNT] for tally in tallies), n)
        return tallies, began or tallies[0].numbers[FIRST]


def empty(side: Contestant, store: Store) -> None:
    """Look until the server holds no job that has not ended.

    Raises:
        BenchError: it still does after some seconds.
    """
    end = time.monotonic() + _SETTLED
    while left := side.left(store):
        if time.monotonic() > end:
            raise BenchError(f"{side.name}: the server still holds {left} jobs")


def _check(workers: Sequence[Guarded]) -> None:
    for worker in workers:
        worker.check()


def subjects(all_sides: Sequence[Contestant]) -> list[Drain]:
    """All of them."""
    everyone = tuple(each.name for each in all_sides)
    with_results = tuple(each.name for each in all_sides if "results" not in each.lacks)
    return [
        Drain("off", everyone, OFF, results=False, processes=1),
        Drain("on", with_results, ON, results=True, processes=1),
        Drain("off2", everyone, OFF_TWO, results=False, processes=2),
        Drain("on2", with_results, ON_TWO, results=True, processes=2),
    ]
