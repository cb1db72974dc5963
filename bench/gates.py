"""What the numbers must be (gates), and what we want them to be (goals)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from bench.figures import Figures

Kind = Literal["gate", "goal"]


@dataclass(frozen=True, slots=True)
class Demand:
    """One demand on the medians.

    Attributes:
        what: in words.
        over: metric and contestant.
        under: what it is divided by, each repetition by itself; None if the value itself counts.
        limit: the bound.
        least: whether the bound is a lower one.
        unit: of the bound.
    """

    kind: Kind
    what: str
    over: tuple[str, str]
    under: tuple[str, str] | None
    limit: float
    least: bool
    unit: str

    def values(self, figures: Figures) -> list[float]:
        """What is compared, one value for each repetition; empty if it was not measured."""
        if self.under is not None:
            return figures.ratios(self.over, self.under)
        series = figures.find(*self.over)
        return list(series.values.values()) if series else []


@dataclass(frozen=True, slots=True)
class Judgement:
    """A demand and what was found: the median, the extremes, and whether it is met. None: not measured."""

    demand: Demand
    value: float | None
    low: float | None
    high: float | None
    passed: bool | None


def judge(figures: Figures, demands: Iterable[Demand]) -> list[Judgement]:
    """Compare the medians with the demands."""
    return [_judge(figures, demand) for demand in demands]


def _judge(figures: Figures, demand: Demand) -> Judgement:
    values = demand.values(figures)
    if not values:
        return Judgement(demand, None, None, None, None)
    value = statistics.median(values)
    passed = value >= demand.limit if demand.least else value <= demand.limit
    return Judgement(demand, value, min(values), max(values), passed)


def _gate(what: str, over: str, under: tuple[str, str], limit: float, *, least: bool = False) -> Demand:
    return Demand("gate", what, (over, "noria"), under, limit, least, "x")


def _beside_huey(what: str, key: str, limit: float, *, least: bool = False) -> Demand:
    return _gate(f"{what}, against huey", key, (key, "huey"), limit, least=least)


def _goal(what: str, key: str, limit: float, unit: str, *, least: bool = False) -> Demand:
    return Demand("goal", what, (key, "noria"), None, limit, least, unit)


_LONG_QUEUE: Final = "with 1,000,000 jobs queued: how much slower"

DEMANDS: Final = (
    _beside_huey("drain with results at synchronous=FULL", "drain.rate", 10, least=True),
    _beside_huey("drain beside a saturated loop", "drain.busy", 4, least=True),
    _gate(
        "drain beside a saturated loop, against huey alone",
        "drain.busy",
        ("drain.rate", "huey"),
        4,
        least=True,
    ),
    _beside_huey("round trip p50", "trip.p50", 0.25),
    _gate(f"bulk enqueue {_LONG_QUEUE}", "backlog.empty_enqueue", ("backlog.enqueue", "noria"), 1.5),
    _gate(f"drain {_LONG_QUEUE}", "backlog.empty_drain", ("backlog.drain", "noria"), 1.5),
    _gate(
        "bulk enqueue, 1,000,000 jobs in 100,000 groups: how much slower than without",
        "groups.free_enqueue",
        ("groups.enqueue", "noria"),
        2,
    ),
    _gate(
        "drain, 1,000,000 jobs in 100,000 groups: how much slower than without",
        "groups.free_drain",
        ("groups.drain", "noria"),
        2,
    ),
    Demand(
        "goal",
        "two worker processes, against one",
        ("pair.two", "noria"),
        ("pair.one", "noria"),
        1.3,
        True,
        "x",
    ),
    _goal("drain with results, one worker process", "drain.rate", 25_000, "jobs/s", least=True),
    _goal("bulk enqueue", "enqueue.bulk", 100_000, "jobs/s", least=True),
    _goal("enqueue, 100 concurrent awaits", "enqueue.callers", 20_000, "jobs/s", least=True),
    _goal("round trip p50", "trip.p50", 1.5, "ms"),
    _goal("5,000 jobs of 0.1 s at concurrency 500", "naps.seconds", 1.15, "s"),
    _goal("POST /v1/jobs, 50 keep-alive clients", "front.posts", 5_000, "jobs/s", least=True),
    _goal("what a front adds to a round trip", "front.added", 1.0, "ms"),
    _goal("first page of a million jobs", "front.page", 50, "ms"),
    _goal("import noria", "import.ms", 120, "ms"),
    _goal("start of a worker process to its first job", "start.seconds", 0.4, "s"),
    _goal("memory of an idle worker process", "idle.rss", 45, "MiB"),
    _goal("CPU time of an idle worker process", "idle.cpu", 0.5, "%"),
)
