"""Whether a long queue costs anything: the same enqueue and drain without and with a million jobs queued.

The store with the short queue is measured just before the other one, so that both meet the same machine.
"""

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

EMPTY_ENQUEUE: Final = Metric("backlog.empty_enqueue", "The same into an empty queue", "jobs/s", higher=True)
EMPTY_DRAIN: Final = Metric(
    "backlog.empty_drain", "The same off a queue of these alone", "jobs/s", higher=True
)
ENQUEUE: Final = Metric("backlog.enqueue", "Enqueue, bulk, behind a million jobs", "jobs/s", higher=True)
DRAIN: Final = Metric("backlog.drain", "Drain with results, off a million jobs", "jobs/s", higher=True)


class Backlog:
    """The queue is filled once; each repetition adds as many jobs as it takes, so that its length stays."""

    name = "backlog"
    sides = ("noria",)

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Add n jobs at the end of a queue, then take the first n off it; for an empty queue, and the long one."""
        n, backlog = arena.scale.jobs, arena.scale.backlog
        long = filled(side, arena, self.name, backlog)
        empty_enqueue, empty_drain = rates(side, arena, arena.store(), n)
        enqueue, drain = rates(side, arena, long, n)
        return [
            Reading(ENQUEUE, enqueue, backlog),
            Reading(EMPTY_ENQUEUE, empty_enqueue, n),
            Reading(DRAIN, drain, backlog),
            Reading(EMPTY_DRAIN, empty_drain, n),
        ]


def rates(side: Side, arena: Arena, store: Store, n: int, task: str = "echo") -> tuple[float, float]:
    """Jobs a second that are enqueued in bulk on a store as it is, and that a worker then runs, n of each.

    Raises:
        BenchError: afterwards the store does not hold what it should.
    """
    before = side.counts(store)
    seconds = side.enqueue(store, n, task=task)
    path, tally = arena.tally(f"tally-{task}-{sum(before.values())}")
    with side.working(store, path):
        tally.wait_for(n, PATIENCE, "drain off a queue")
        # More jobs may end while we look; the rate is over all that have.
        count, last = tally.numbers[COUNT], tally.numbers[LAST]
    _check(before, side.counts(store), tally.numbers[COUNT], n)
    return n / seconds, (count - 1) / ((last - tally.numbers[FIRST]) / 1e9)


def _check(before: dict[str, int], after: dict[str, int], ran: int, added: int) -> None:
    ended = after.get("succeeded", 0) - before.get("succeeded", 0)
    left = sum(after.values()) - after.get("succeeded", 0)
    expected = sum(before.values()) - before.get("succeeded", 0) + added - ran
    if ended != ran or left != expected:
        raise BenchError(f"{ran} jobs ran, {ended} were recorded, {left} are left of {expected}")


def filled(side: Side, arena: Arena, name: str, backlog: int, task: str = "echo") -> Store:
    """A store in which so many jobs wait already; it is filled once."""
    folder: Path = arena.lasting / name
    store = Store(folder, arena.runtime)
    if not (folder / "full").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        side.enqueue(store, backlog, task=task)
        (folder / "full").touch()
    return store
