"""Promises about many jobs: a worker's memory, bounded batches, the order of equal times."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noria import Noria
from noria.backends.contract import Batch, Swept, Want
from noria.ids import SessionId
from noria.model.limits import MAX_BATCH
from noria.model.state import State
from noria.worker.worker import Worker
from tests.support.workplace import Workplace, in_virtual_time

WORKER = """
import asyncio, gc, os, sys
from noria import Noria

app = Noria(sys.argv[1])

@app.task
async def work(n: int) -> int:
    return n

def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

async def main() -> None:
    loop = asyncio.get_running_loop()
    async with app:
        worker = app.worker()
        running = asyncio.ensure_future(worker.run())
        await worker.started.wait()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(resident(), flush=True)
        worker.drain()
        await running

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
async def test_two_hundred_thousand_delayed_jobs_cost_a_worker_five_megabytes_at_most(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T10, G9: they wait in the store, and not in the worker."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    url = f"sqlite:///{short_tmp}/store.db?synchronous=normal"
    app = Noria(url)

    @app.task
    async def work(n: int) -> int:
        return n

    with subprocess.Popen(
        [sys.executable, "-c", WORKER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def resident() -> int:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("\n")
            child.stdin.flush()
            return int(child.stdout.readline())

        async with app:
            # Warm: it has run some thousands of jobs, and its caches are as they will be.
            jobs = await app.enqueue_many(work.job(n) for n in range(3_000))
            assert await asyncio.gather(*jobs) == list(range(3_000))
            before = await asyncio.to_thread(resident)
            later = work.options(delay=3600)
            for start in range(0, 200_000, 10_000):
                await app.enqueue_many(later.job(n) for n in range(start, start + 10_000))
            await asyncio.sleep(3)
            assert (await app.backend.counts()).queues["default"].states[State.SCHEDULED] == 200_000
            after = await asyncio.to_thread(resident)
            assert await (await work.enqueue(5)).result(30) == 5
        child.stdin.close()
        assert child.wait(30) == 0
    print(f"resident {before / 2**20:.1f} MiB, then {after / 2**20:.1f} MiB")
    assert after - before <= 5 * 2**20


class Watched:
    """The real backend; tells how many rows each call has promoted, and in which order jobs were leased."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.promoted: list[int] = []
        self.swept: list[Swept] = []
        self.leased: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def heal(self) -> None:
        """Nothing is broken."""

    async def _waiting(self) -> int:
        queues = (await self._inner.counts()).queues
        return sum(queue.states.get(State.SCHEDULED, 0) for queue in queues.values())

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        # Without waiting, so that one call looks once.
        before = await self._waiting()
        batch: Batch = await self._inner.lease(session, wants, limit, 0.0)
        self.promoted.append(before - await self._waiting())
        self.leased += [lease.id for lease in batch.leases]
        if not batch.leases:
            await asyncio.sleep(0.05)
        return batch

    async def sweep(self, limit: int) -> Swept:
        before = await self._waiting()
        swept: Swept = await self._inner.sweep(limit)
        self.promoted.append(before - await self._waiting())
        self.swept.append(swept)
        return swept


def watched(place: Workplace, **settings: Any) -> tuple[Worker, Watched]:
    watch = Watched(place.store)
    place.faulty = watch  # type: ignore[assignment]  # what workers of this place see
    return place.make(**settings), watch


@pytest.mark.slow
@pytest.mark.timeout(180)
@in_virtual_time
async def test_a_hundred_thousand_jobs_due_at_one_instant_move_a_thousand_at_a_time() -> None:
    """T10, T13: all are leased, in the order in which they were enqueued."""
    many = 100_000
    async with Workplace() as place:
        ran = 0

        @place.app.task
        async def work() -> None:
            nonlocal ran
            ran += 1

        jobs: list[bytes] = []
        later = work.options(delay=10)
        for _ in range(0, many, 10_000):
            jobs += [job._id for job in await place.app.enqueue_many(later.job() for _ in range(10_000))]
        worker, watch = watched(place, concurrency=1_000)
        await place.start(worker)
        began = time.monotonic()
        await place.until(lambda: ran == many, seconds=500)
        print(f"{many} jobs in {time.monotonic() - began:.1f} s")
        assert max(watch.promoted) <= MAX_BATCH
        assert sum(watch.promoted) == many
        assert watch.leased == jobs
        await place.end(worker)


@in_virtual_time
async def test_records_over_their_number_or_time_go_in_bounded_batches() -> None:
    """R7."""
    async with Workplace(keep_succeeded_at_most=2_000, keep_succeeded=60.0, keep_dead=600.0) as place:

        @place.app.task(attempts=1)
        async def work(n: int) -> int:
            if n % 4 == 0:
                raise ValueError("x")
            return n

        worker, watch = watched(place, concurrency=500)
        await place.start(worker)
        jobs = await place.app.enqueue_many(work.job(n) for n in range(8_000))
        await place.until(lambda: len(watch.leased) == len(jobs), seconds=300)
        await place.pass_by(5)
        states = (await place.store.counts()).queues["default"].states
        assert states[State.FAILED] == 2_000
        assert states[State.SUCCEEDED] <= 2_000
        place.clock.jump(90)
        await place.pass_by(5)
        states = (await place.store.counts()).queues["default"].states
        assert states.get(State.SUCCEEDED, 0) == 0
        assert states[State.FAILED] == 2_000
        place.clock.jump(700)
        await place.pass_by(5)
        left = (await place.store.counts()).queues.get("default")
        assert left is None or left.states.get(State.FAILED, 0) == 0
        assert max(swept.pruned for swept in watch.swept) <= MAX_BATCH
        await place.end(worker)
