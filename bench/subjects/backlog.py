"""Whether a long queue costs anything: the same enqueue and drain with a million jobs queued already."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.child import BenchError
from bench.figures import Metric, Reading
from bench.side import Side, Store
from bench.subject import Arena
from bench.subjects.drain import PATIENCE
from bench.tally import COUNT, FIRST, LAST

ENQUEUE: Final = Metric("backlog.enqueue", "Enqueue, bulk, behind a million jobs", "jobs/s", higher=True)
DRAIN: Final = Metric("backlog.drain", "Drain with results, off a million jobs", "jobs/s", higher=True)


class Backlog:
    """The queue is filled once; each repetition adds as many jobs as it takes, so that its length stays."""

    name = "backlog"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Add n jobs at the end of the queue, then take the first n off it."""
        n, backlog = arena.scale.jobs, arena.scale.backlog
        store = _filled(side, arena, backlog)
        before = side.counts(store)
        seconds = side.enqueue(store, n)
        path, tally = arena.tally()
        with side.working(store, path):
            tally.wait_for(n, PATIENCE, "drain off a long queue")
            # More jobs end while we look; the rate is over all that have.
            count, last = tally.numbers[COUNT], tally.numbers[LAST]
        self._check(before, side.counts(store), tally.numbers[COUNT], n)
        rate = (count - 1) / ((last - tally.numbers[FIRST]) / 1e9)
        return [Reading(ENQUEUE, n / seconds, backlog), Reading(DRAIN, rate, backlog)]

    def _check(self, before: dict[str, int], after: dict[str, int], ran: int, added: int) -> None:
        ended = after.get("succeeded", 0) - before.get("succeeded", 0)
        left = sum(after.values()) - after.get("succeeded", 0)
        expected = sum(before.values()) - before.get("succeeded", 0) + added - ran
        if ended != ran or left != expected:
            raise BenchError(f"{ran} jobs ran, {ended} were recorded, {left} are left of {expected}")


def _filled(side: Side, arena: Arena, backlog: int) -> Store:
    folder: Path = arena.lasting / "backlog"
    store = Store(folder, arena.runtime)
    if not (folder / "full").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        side.enqueue(store, backlog)
        (folder / "full").touch()
    return store
