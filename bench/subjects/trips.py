"""How long it takes from the call that enqueues a job to its value; an idle worker is in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.figures import Metric, Reading, quantile
from bench.side import Side
from bench.subject import Arena

PAUSE: Final = 0.04
"""Longest pause between two trips, so that they meet a polling worker at any point of its sleep."""

QUANTILES: Final = (0.5, 0.95, 0.99)


def _metrics(key: str, title: str) -> tuple[Metric, ...]:
    names = [f"p{part * 100:.0f}" for part in QUANTILES]
    return tuple(Metric(f"{key}.{name}", f"{title}, {name}", "ms") for name in names)


BACK_TO_BACK: Final = _metrics("trip", "Round trip, one after another")
PAUSED: Final = _metrics("trip.paused", "Round trip after a random pause")


class BackToBack:
    """Each trip begins when the last one has ended, as peers were measured before."""

    name = "trip"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Make the trips."""
        return _measure(side, arena, BACK_TO_BACK, 0.0)


class Paused:
    """Each trip begins after a random pause, as jobs come in life."""

    name = "paused"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Make the trips."""
        return _measure(side, arena, PAUSED, PAUSE)


def _measure(side: Side, arena: Arena, metrics: tuple[Metric, ...], pause: float) -> list[Reading]:
    store, n = arena.store(), arena.scale.trips
    path, tally = arena.tally()
    side.enqueue(store, 1)
    with side.working(store, path):
        tally.wait_for(1, 60, "first job")
        found = side.trips(store, n, pause)
    parts = zip(metrics, QUANTILES, strict=True)
    return [Reading(metric, quantile(found, part), n) for metric, part in parts]
