"""How fast one worker process empties a queue, with results, alone and beside other work in its process.

N jobs that only return their argument are queued first, then the worker starts. The rate is that between the
end of the first job's handler and the record of the last one's outcome. Afterwards every result is read back
and compared, each job must have run exactly once, and the store must hold nothing that has not ended.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from bench.busy import TURN
from bench.child import BenchError
from bench.figures import Metric, Reading
from bench.side import Side, Store
from bench.subject import Arena
from bench.tally import COUNT, CRUNCHING, FIRST, LAST, STOP, TURNS, TURNS_BEFORE

PATIENCE: Final = 600.0
"""Seconds after which a drain is given up."""

SHORT_PATIENCE: Final = 60.0
"""Seconds for a contestant that hardly moves beside a saturated loop; what it has done until then counts."""

ALONE: Final = Metric("drain.rate", "Drain with results, one worker process", "jobs/s", higher=True)
BUSY: Final = Metric("drain.busy", "Drain beside a saturated loop", "jobs/s", higher=True)
TURNED: Final = Metric("drain.turns", "Share of time that the saturating task got meanwhile", "%")
THREAD: Final = Metric("drain.thread", "Drain beside one CPU-bound thread job", "jobs/s", higher=True)


def drain(side: Side, arena: Arena, store: Store, n: int, *, busy: bool = False) -> tuple[float, float]:
    """Drain a store into which n jobs have been put, with their ids in `store.folder / "ids"`.

    Returns:
        jobs a second, and the share of time that the saturating task got.
    """
    path, tally = arena.tally()
    with side.working(store, path, busy=busy):
        tally.wait_for(n, PATIENCE, "drain")
        turns = tally.numbers[TURNS] - tally.numbers[TURNS_BEFORE]
    numbers = tally.numbers
    if numbers[COUNT] != n:
        raise BenchError(f"{side.name}: {n} jobs ran {numbers[COUNT]} times")
    last = max(numbers[LAST], side.check(store, store.folder / "ids", n)["last"])
    seconds = (last - numbers[FIRST]) / 1e9
    return (n - 1) / seconds, turns * TURN / seconds


class Drain:
    """A worker that has nothing else to do."""

    name = "drain"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Drain a store that holds nothing but these jobs."""
        store, n = arena.store(), arena.scale.jobs
        side.enqueue(store, n, ids=store.folder / "ids")
        rate, _ = drain(side, arena, store, n)
        return [Reading(ALONE, rate, n)]


class BesideBusyLoop:
    """A task keeps an event loop in the worker's process saturated in turns of 0.2 ms, all the time.

    With Noria that is the loop that runs the jobs; a huey process has none, and gets one in a thread. There it
    waits for the interpreter lock at each statement, so it is given fewer jobs, and only so many seconds.
    """

    name = "busy"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Drain beside it."""
        store, n = arena.store(), _how_many(side, arena)
        side.enqueue(store, n, ids=store.folder / "ids")
        if side.name == "huey":
            return [_as_far_as_it_gets(side, arena, store, n)]
        rate, share = drain(side, arena, store, n, busy=True)
        return [Reading(BUSY, rate, n), Reading(TURNED, 100 * share, n)]


class BesideThread:
    """One job computes in a thread of the worker all the time; huey gets a second thread for it, and fewer jobs."""

    name = "thread"
    sides = ("noria", "huey")

    def measure(self, side: Side, arena: Arena) -> Sequence[Reading]:
        """Enqueue that job before the others, and drain them beside it."""
        store, n = arena.store(), _how_many(side, arena)
        path, tally = arena.tally()
        numbers = tally.numbers
        side.enqueue(store, 1, task="crunch")
        side.enqueue(store, n, ids=store.folder / "ids")
        with side.working(store, path, threads=2):
            tally.wait_for(n, PATIENCE, "drain beside a thread job")
            numbers[STOP] = 1
        if numbers[COUNT] != n:
            raise BenchError(f"{side.name}: {n} jobs ran {numbers[COUNT]} times")
        last = max(numbers[LAST], side.check(store, store.folder / "ids", n)["last"])
        seconds = (last - numbers[FIRST]) / 1e9
        late = (numbers[CRUNCHING] - numbers[FIRST]) / 1e9
        if not numbers[CRUNCHING] or late > max(0.02, 0.05 * seconds):
            raise BenchError(f"{side.name}: the thread job began {late:.2f} s late, or never")
        return [Reading(THREAD, (n - 1) / seconds, n)]


def _as_far_as_it_gets(side: Side, arena: Arena, store: Store, n: int) -> Reading:
    """The rate of the jobs that end within `SHORT_PATIENCE`, all of them or not; nothing is read back."""
    path, tally = arena.tally()
    with side.working(store, path, busy=True):
        began = time.monotonic()
        with suppress(TimeoutError):
            tally.wait_for(n, SHORT_PATIENCE, "drain beside a saturated loop")
        seconds = time.monotonic() - began
    done = int(tally.numbers[COUNT])
    return Reading(BUSY, max(1, done) / seconds, done)


def _how_many(side: Side, arena: Arena) -> int:
    return arena.scale.few if side.name == "huey" else arena.scale.jobs
