"""The measurements of `noria bench`, on a store of their own."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from msgspec import Struct

from noria import ids
from noria.aio import Crew
from noria.app.application import Noria
from noria.app.job import Job
from noria.app.task import Task
from noria.backends.contract import Parts
from noria.cli.output import Advance
from noria.clock import Clock
from noria.model.job import Record
from noria.model.limits import MAX_BATCH
from noria.model.state import State

ONE_BY_ONE: Final = 500
"""Jobs of the measurements that wait for each, at most."""
CALLERS: Final = 100


class Measure(Struct, frozen=True, kw_only=True):
    """One measurement. Times are seconds; percentiles only where each job was timed."""

    name: str
    jobs: int
    seconds: float
    cpu: float
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / max(self.seconds, 1e-9)


class Bench:
    """Enqueues, drains, and reads back.

    Args:
        app: on a store that nobody else uses; open.
        jobs: how many jobs the bulk measurements have.
        clock: of the machine.
        advance: told of progress.
    """

    def __init__(self, app: Noria, jobs: int, clock: Clock, advance: Advance) -> None:
        self._app = app
        self._jobs = jobs
        self._few = min(jobs, ONE_BY_ONE)
        self._clock = clock
        self._advance = advance
        self._double: Task[[int], int] = app.task(double)
        self._expected: dict[str, int] = {}

    async def run(self) -> list[Measure]:
        """All measurements, one after the other."""
        return [
            await self._one_by_one(),
            await self._callers(),
            await self._batches(),
            await self._drain(),
            await self._round_trips(),
        ]

    async def wrong(self) -> int:
        """Read back every job: how many are not succeeded with the value they should have."""
        names = list(self._expected)
        wrong = 0
        for start in range(0, len(names), MAX_BATCH):
            part = names[start : start + MAX_BATCH]
            records = await self._app.backend.get([ids.from_text(name) for name in part], Parts.RESULT)
            for name, record in zip(part, records, strict=True):
                wrong += record is None or value_in(record) != self._expected[name]
        return wrong

    async def _enqueue(self, n: int) -> float:
        began = self._clock.monotonic()
        job = await self._double.enqueue(n)
        took = self._clock.monotonic() - began
        self._note(job, n)
        return took

    def _note(self, job: Job[int], n: int) -> None:
        self._expected[job.id] = 2 * n
        self._advance(1)

    async def _one_by_one(self) -> Measure:
        with self._stopwatch() as watch:
            times = [await self._enqueue(n) for n in range(self._few)]
        return watch.measure("enqueue, one by one", times, len(times))

    async def _callers(self) -> Measure:
        numbers = iter(range(self._jobs))

        async def caller() -> list[float]:
            return [await self._enqueue(n) for n in numbers]

        with self._stopwatch() as watch:
            async with asyncio.TaskGroup() as group:
                callers = [group.create_task(caller()) for _ in range(CALLERS)]
        times = [time for each in callers for time in each.result()]
        return watch.measure(f"enqueue, {CALLERS} callers at once", times, len(times))

    async def _batches(self) -> Measure:
        with self._stopwatch() as watch:
            for start in range(0, self._jobs, MAX_BATCH):
                numbers = range(start, min(start + MAX_BATCH, self._jobs))
                jobs = await self._app.enqueue_many([self._double.job(n) for n in numbers])
                for n, job in zip(numbers, jobs, strict=True):
                    self._note(job, n)
        return watch.measure(f"enqueue, batches of {MAX_BATCH:,}", [], self._jobs)

    async def _drain(self) -> Measure:
        waiting = len(self._expected)
        worker = self._app.worker(burst=True)
        with self._stopwatch() as watch:
            await worker.run()
        self._advance(waiting)
        return watch.measure("drain, with results", [], waiting)

    async def _round_trips(self) -> Measure:
        async with self._working():
            with self._stopwatch() as watch:
                times = [await self._round_trip(n) for n in range(self._few)]
        return watch.measure("round trip, one by one", times, len(times))

    async def _round_trip(self, n: int) -> float:
        began = self._clock.monotonic()
        job = await self._double.enqueue(n)
        await job.result(timeout=60)
        took = self._clock.monotonic() - began
        self._note(job, n)
        return took

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        """A worker beside the block."""
        worker = self._app.worker()
        crew = Crew("noria.bench", lambda name, error: None)
        crew.start("worker", worker.run())
        await worker.started.wait()
        try:
            yield
        finally:
            worker.drain()
            await crew.aclose(10.0)

    def _stopwatch(self) -> Stopwatch:
        return Stopwatch(self._clock)


class Stopwatch:
    """Times a block: the clock on the wall, and the processor time of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = self._cpu_began = 0.0
        self._seconds = self._cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._began, self._cpu_began = self._clock.monotonic(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self._seconds = self._clock.monotonic() - self._began
        self._cpu = time.process_time() - self._cpu_began

    def measure(self, name: str, times: Sequence[float], jobs: int) -> Measure:
        """What the block amounts to."""
        ordered = sorted(times)
        at = {f"p{share}": percentile(ordered, share) for share in (50, 95, 99)} if ordered else {}
        return Measure(name=name, jobs=jobs, seconds=self._seconds, cpu=self._cpu, **at)


def value_in(record: Record) -> object:
    """The value with which a job succeeded; None if it has not, or the value is gone."""
    if record.state is not State.SUCCEEDED or record.result is None:
        return None
    return msgspec.json.decode(record.result)


def percentile(ordered: Sequence[float], share: int) -> float:
    """The value that `share` percent of the sorted values do not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]


async def double(n: int) -> int:
    """The job that is measured: as little as a job can do, with a result."""
    return 2 * n
