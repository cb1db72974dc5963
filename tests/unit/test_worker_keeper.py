"""Beside a loop that cannot turn: the stand-in renews, names the task, and never dies unheard. Real threads."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from noria import Context, Noria, Worker
from noria.aio import Breather
from noria.worker.ending import WorkerFault
from noria.worker.threads import ThreadPool
from tests.support.commands import until


@pytest.fixture
async def app(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Noria]:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")
    async with app:
        yield app


async def started(worker: Worker) -> asyncio.Task[Any]:
    running = asyncio.ensure_future(worker.run())
    await worker.started.wait()
    return running


async def test_a_blocked_loop_keeps_its_session_and_the_log_names_the_task(
    app: Noria, caplog: pytest.LogCaptureFixture
) -> None:
    """W8: three times the ttl inside one step."""

    @app.task(crashes=1, attempts=1)
    async def blocking_on_purpose() -> int:
        time.sleep(3.0)
        return 5

    worker = app.worker(ttl=1.0, beat=0.3, blocked_after=0.3, concurrency=2, threads=1)
    running = await started(worker)
    session = worker._tenure.session
    job = await blocking_on_purpose.enqueue()
    assert await job.result(20) == 5
    assert worker._tenure.session == session
    assert (await job.status()).starts == 1
    warned = [record.getMessage() for record in caplog.records if "blocked the event loop" in record.message]
    assert warned
    assert warned[0].startswith(f"blocking_on_purpose {job.id}")
    assert "time.sleep(3.0)" in warned[0]
    async with asyncio.timeout(10):
        while not any("turns again" in record.getMessage() for record in caplog.records):
            await asyncio.sleep(0.02)
    worker.drain()
    await running


async def test_a_loop_that_turns_is_never_stood_in_for(app: Noria, caplog: pytest.LogCaptureFixture) -> None:
    @app.task
    async def work() -> None: ...

    made: list[Any] = []
    worker = app.worker(ttl=3.0, beat=1.0, blocked_after=5.0)
    assert worker._stand_in is not None
    worker._stand_in._connect = lambda: made.append(1)  # type: ignore[assignment, func-returns-value]  # an ear
    running = await started(worker)
    await asyncio.sleep(1.5)
    worker.drain()
    await running
    assert made == []


async def test_a_loop_that_no_job_blocks_is_told_with_all_that_may_have_stopped_it(
    app: Noria, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task
    async def work() -> None: ...

    worker = app.worker(blocked_after=1.0)
    assert worker._stand_in is not None
    worker._stand_in._report(100.0, 5.0)

    assert "has not turned for 5.0 s" in caplog.text
    assert "other threads hold the interpreter" in caplog.text
    assert "this process was suspended, as by SIGSTOP" in caplog.text


async def test_a_stand_in_that_fails_ends_the_worker_loudly(
    app: Noria, caplog: pytest.LogCaptureFixture
) -> None:
    """A6: what a thread raises, nobody hears."""

    @app.task
    async def work() -> None: ...

    worker = app.worker(ttl=1.0, beat=0.3, blocked_after=0.2)
    assert worker._stand_in is not None

    def broken() -> str:
        raise ZeroDivisionError("a bug")

    worker._stand_in._culprit = broken
    running = await started(worker)
    time.sleep(0.8)
    with pytest.raises(WorkerFault, match="stand-in failed"):
        await asyncio.wait_for(running, 10)


async def test_thread_jobs_get_a_fresh_context_and_their_own_threads(app: Noria) -> None:
    mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="fresh")
    seen: list[tuple[str, bool]] = []

    @app.task
    def think(ctx: Context) -> None:
        seen.append((mark.get(), threading.current_thread() is threading.main_thread()))
        mark.set(ctx.job_id)

    worker = app.worker(threads=2)
    running = await started(worker)
    jobs = await app.enqueue_many(think.job() for _ in range(50))
    for job in jobs:
        await job.result(30)
    worker.drain()
    await running
    assert seen == [("fresh", False)] * 50


async def test_a_real_thread_past_its_limit_is_settled_while_it_runs(app: Noria) -> None:
    release = threading.Event()
    seen: list[bool] = []

    @app.task(timeout=0.2, attempts=1)
    def think(ctx: Context) -> None:
        release.wait(20)
        seen.append(ctx.stopping)

    worker = app.worker(threads=1, grace=5)
    running = await started(worker)
    job = await think.enqueue()
    with pytest.raises(Exception, match="ran longer than its time limit"):
        await job.result(15)
    assert worker._runner.free["thread"] == 0
    assert seen == []
    release.set()
    await asyncio.to_thread(until, lambda: seen)
    worker.drain()
    await running
    assert seen == [True]


async def test_finished_threads_wake_the_loop_once_for_all() -> None:
    """Results that are ready together are collected together."""
    loop = asyncio.get_running_loop()
    pool = ThreadPool(loop, Breather.of(loop), "test")
    wakes = 0
    call = loop.call_soon_threadsafe

    def counting(callback: Any, *args: Any, context: Any = None) -> Any:
        nonlocal wakes
        wakes += 1
        return call(callback, *args, context=context)

    loop.call_soon_threadsafe = counting  # type: ignore[method-assign, assignment]  # an ear at it
    gate, done = threading.Event(), []
    for n in range(200):
        pool.submit(gate.wait if n < 20 else lambda: None, lambda n=n: done.append(n))
        if n == 19:
            gate.set()
    time.sleep(0.3)
    while len(done) < 200:
        await asyncio.sleep(0.01)
    assert sorted(done) == list(range(200))
    assert wakes < 100
    assert pool._busy == 0
    pool.close()


async def test_the_pool_makes_no_more_threads_than_were_busy_at_once() -> None:
    loop = asyncio.get_running_loop()
    pool = ThreadPool(loop, Breather.of(loop), "few")
    for _ in range(30):
        done = asyncio.Event()
        pool.submit(lambda: None, done.set)
        await asyncio.wait_for(done.wait(), 10)
    assert pool._threads == 1
    pool.close()
    await asyncio.to_thread(
        until, lambda: not [each for each in threading.enumerate() if each.name.startswith("few-")]
    )


async def test_work_that_ends_after_the_loop_closed_is_nobodys_trouble() -> None:
    other = asyncio.new_event_loop()
    gate = threading.Event()
    pool = ThreadPool(other, Breather.of(other), "orphan")
    pool.submit(lambda: gate.wait(10) and None, lambda: None)
    other.close()
    gate.set()
    pool.close()
    await asyncio.to_thread(
        until, lambda: not [each for each in threading.enumerate() if each.name.startswith("orphan-")]
    )


async def test_the_breather_stops_when_nobody_holds_it() -> None:
    loop = asyncio.get_running_loop()
    breather = Breather.of(loop)
    breather.hold()
    breather.hold()
    breather.release()
    await asyncio.sleep(0.05)
    assert breather._ticking
    breather.release()
    await asyncio.sleep(0.05)
    assert not breather._ticking


@pytest.mark.parametrize(("computing", "breathes"), [(True, True), (False, False)])
async def test_only_a_loop_that_computes_breathes(
    monkeypatch: pytest.MonkeyPatch, computing: bool, breathes: bool
) -> None:
    breaths: list[float] = []
    # The processor's time of the loop's thread, as its turns would have used it up.
    used = count(step=1.0 if computing else 0.0)
    monkeypatch.setattr("noria.aio.time.thread_time", lambda: next(used))
    monkeypatch.setattr("noria.aio.time.sleep", breaths.append)
    breather = Breather.of(asyncio.get_running_loop())
    breather.hold()

    await asyncio.sleep(0.1)

    assert bool(breaths) is breathes
    breather.release()


async def test_a_loop_has_one_breather_however_many_hold_it() -> None:
    loop = asyncio.get_running_loop()

    assert Breather.of(loop) is Breather.of(loop)


def test_a_breather_ends_with_its_loop() -> None:
    loop = asyncio.new_event_loop()
    gone = weakref.ref(loop)
    Breather.of(loop).hold()
    loop.close()

    del loop
    gc.collect()

    assert gone() is None


@pytest.mark.parametrize(("option", "ends"), [("timeout", "failed"), ("deadline", "expired")])
async def test_a_job_that_blocks_the_loop_past_its_limit_has_not_kept_it(
    app: Noria, option: str, ends: str
) -> None:
    @app.task(attempts=1)
    async def block() -> str:
        time.sleep(0.4)
        return "late"

    job = await block.options(**{option: 0.1}).enqueue()  # type: ignore[arg-type]  # one of two
    await app.worker(burst=True).run()

    assert (await job.status()).state == ends


async def test_a_thread_job_that_ended_in_time_has_kept_its_limit_although_the_loop_was_blocked(
    app: Noria,
) -> None:
    begun = threading.Event()

    @app.task(attempts=1, timeout=0.3)
    def quick() -> str:
        begun.set()
        return "in time"

    @app.task(attempts=1)
    async def block() -> None:
        begun.wait(10)
        time.sleep(0.6)

    job = await quick.enqueue()
    await block.enqueue()
    await app.worker(burst=True).run()

    assert (await job.status()).state == "succeeded"


async def test_threads_progress_beside_a_busy_loop(app: Noria) -> None:
    """A loop of 0.2 ms turns at full load; thread jobs beside it end, one after another."""
    loop = asyncio.get_running_loop()
    busy = True

    def spin() -> None:
        end = time.perf_counter() + 0.0002
        while time.perf_counter() < end:
            pass
        if busy:
            loop.call_soon(spin)

    @app.task
    def think(n: int) -> int:
        return sum(range(n))

    worker = app.worker(threads=2, ttl=3, beat=1)
    running = await started(worker)
    session = worker._tenure.session
    loop.call_soon(spin)
    try:
        jobs = await app.enqueue_many(think.job(1_000) for _ in range(100))
        async with asyncio.timeout(30):
            await asyncio.gather(*jobs)
    finally:
        busy = False
    assert worker._tenure.session == session
    worker.drain()
    await running
