"""Latency with an idle worker, and how well jobs that wait overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.compare.contestant import Contestant
from bench.compare.subjects.drain import empty
from bench.figures import Metric, Reading, quantile
from bench.side import Store
from bench.subject import Arena
from bench.subjects.naps import NAPS
from bench.subjects.trips import BACK_TO_BACK, QUANTILES
from bench.tally import BEGUN, COUNT, LAST

PICKS: Final = tuple(
    Metric(f"pick.p{part * 100:.0f}", f"Enqueue to the end of the handler, p{part * 100:.0f}", "ms")
    for part in QUANTILES
)
_PAUSE: Final = 0.0


@dataclass(frozen=True, slots=True)
class Trips:
    """From the call that enqueues a job to its value, one after another; an idle worker is in another process."""

    sides: tuple[str, ...]
    name: str = "trip"

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Make the trips."""
        with _idle(side, arena) as (store, _):
            found = side.trips(store, arena.scale.trips, _PAUSE)
        return _readings(BACK_TO_BACK, found)


@dataclass(frozen=True, slots=True)
class Picks:
    """From the call that enqueues a job to the end of its handler, also where nothing can wait for it."""

    sides: tuple[str, ...]
    name: str = "pick"

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Enqueue one after another."""
        with _idle(side, arena) as (store, path):
            found = side.picks(store, path, arena.scale.trips)
        return _readings(PICKS, found)


@dataclass(frozen=True, slots=True)
class Naps:
    """Jobs that sleep 0.1 s, queued first; the time is from the first one's beginning to the last one's end."""

    sides: tuple[str, ...]
    name: str = "naps"

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Let them all sleep."""
        n, (path, tally) = arena.scale.naps, arena.tally()
        with side.opened(arena, results=False) as store:
            side.enqueue(store, n, task="nap")
            with side.working(store, path, slots=arena.scale.nap_slots) as worker:
                tally.wait_for(n, 120, "naps", worker.check)
                last = tally.numbers[LAST]
                empty(side, store)
            side.check_runs(tally.numbers[COUNT], n)
        return [Reading(NAPS, (last - tally.numbers[BEGUN]) / 1e9, n)]


@contextmanager
def _idle(side: Contestant, arena: Arena) -> Iterator[tuple[Store, Path]]:
    """A store, and the tally of a worker that has done one job and waits for more."""
    path, tally = arena.tally()
    with side.opened(arena) as store:
        side.enqueue(store, 1)
        with side.working(store, path) as worker:
            tally.wait_for(1, 60, "first job", worker.check)
            yield store, path


def _readings(metrics: Sequence[Metric], found: list[float]) -> list[Reading]:
    parts = zip(metrics, QUANTILES, strict=True)
    return [Reading(metric, quantile(found, part), len(found)) for metric, part in parts]


def subjects(all_sides: Sequence[Contestant]) -> list[Trips | Picks | Naps]:
    """All of them."""
    return [
        Trips(tuple(each.name for each in all_sides if "trips" not in each.lacks)),
        Picks(tuple(each.name for each in all_sides)),
        Naps(tuple(each.name for each in all_sides if "naps" not in each.lacks)),
    ]
