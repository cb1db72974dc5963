"""What Noria alone is asked on each server: whether a long queue, or a foreign transaction, costs anything."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from bench.compare.contestant import Contestant
from bench.compare.servers import Server, foreign_transaction, rest
from bench.compare.subjects.drain import PATIENCE
from bench.figures import Metric, Reading
from bench.side import Store
from bench.subject import Arena
from bench.subjects.backlog import rates
from bench.tally import COUNT, Check, Tally

_HOUR: Final = 3_600.0


def _four(key: str, what: str) -> tuple[Metric, ...]:
    """Enqueue and drain: without what is in the way, and with it."""
    return tuple(
        Metric(f"{key}.{part}", title, "jobs/s", higher=True)
        for part, title in {
            "empty_enqueue": f"Enqueue, bulk, just before the next but one: no {what}",
            "empty_drain": f"Drain with results, just before the next but one: no {what}",
            "enqueue": f"Enqueue, bulk, with 1.5 million {what}",
            "drain": f"Drain with results, with 1.5 million {what}",
        }.items()
    )


QUEUED: Final = _four("queued", "jobs queued before")
DELAYED: Final = _four("delayed", "jobs delayed by an hour")
ALONE: Final = Metric("foreign.alone", "Drain, last tenth", "jobs/s", higher=True)
FOREIGN: Final = Metric("foreign.open", "The same beside an open foreign transaction", "jobs/s", higher=True)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The same enqueue and drain on an empty server, and then on the same one with 1.5 million jobs on it, at rest.

    Not just a million: at 2^20 fields Redis begins to enlarge its tables, a step with each command, and for some
    hundred thousand jobs each costs up to 1.8 times as much. That is no matter of how many jobs there are.
    """

    name: str
    sides: tuple[str, ...]
    metrics: tuple[Metric, ...]
    delay: float

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Add n jobs and run n, twice. Behind a queue the n that run are others, as many."""
        n, backlog = arena.scale.jobs, arena.scale.backlog * 3 // 2
        with side.opened(arena) as store:
            without = rates(side, arena, store, n)
            side.enqueue(store, backlog, delay=self.delay)
            rest(Server(store.url, store.folder))
            found = (*without, *rates(side, arena, store, n))
        return [Reading(metric, value, n) for metric, value in zip(self.metrics, found, strict=True)]


@dataclass(frozen=True, slots=True)
class ForeignTransaction:
    """A transaction that is opened before the first of 300,000 jobs and stays open until the last has ended.

    Nothing that was deleted meanwhile can be cleaned away, so a claim that looks at it gets slower and slower. The
    rate is that of the last tenth of the jobs, where that is worst.
    """

    sides: tuple[str, ...]
    name: str = "foreign"

    def measure(self, side: Contestant, arena: Arena) -> Sequence[Reading]:
        """Without such a transaction, and with one on a new server."""
        n = arena.scale.foreign
        return [
            Reading(metric, self._last_tenth(side, arena, n, beside=beside), n)
            for metric, beside in ((ALONE, False), (FOREIGN, True))
        ]

    def _last_tenth(self, side: Contestant, arena: Arena, n: int, *, beside: bool) -> float:
        with side.opened(arena) as store:
            server = Server(store.url, store.folder)
            path, tally = arena.tally(f"tally-{beside}")
            with foreign_transaction(server) if beside else nullcontext():
                ids = store.folder / "ids"
                side.enqueue(store, n, ids=ids)
                with side.working(store, path) as worker:
                    rate = _last_tenth(tally, n, worker.check)
                self._check(side, store, tally, n)
        return rate

    def _check(self, side: Contestant, store: Store, tally: Tally, n: int) -> None:
        side.check_runs(tally.numbers[COUNT], n)
        side.check(store, store.folder / "ids", n)


def _last_tenth(tally: Tally, n: int, check: Check) -> float:
    tally.wait_for(n - n // 10, PATIENCE, "most of a drain", check)
    began, before = time.monotonic(), tally.numbers[COUNT]
    tally.wait_for(n, PATIENCE, "the rest of a drain", check)
    return float(max(1, n - before) / (time.monotonic() - began))


def subjects(all_sides: Sequence[Contestant]) -> list[Backlog | ForeignTransaction]:
    """All of them."""
    ours = [each for each in all_sides if each.is_noria]
    names = tuple(each.name for each in ours)
    return [
        Backlog("queued", names, QUEUED, delay=0.0),
        Backlog("delayed", names, DELAYED, delay=_HOUR),
        ForeignTransaction(tuple(each.name for each in ours if each.server == "postgres")),
    ]
