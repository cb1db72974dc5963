"""Running jobs: time limits, deadlines, cancellation, handlers that do not listen, and contexts of their own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from typing import Any

import pytest

from noria import ConfigError, Context, Exit, Fail, JobStatus, Retry, Snooze
from noria.backends.contract import Fence
from noria.model.job import Extras
from noria.worker.orders import cancel
from noria.worker.run import LAST_CHANCE, OVERRUN
from noria.worker.worker import Worker
from tests.support.workplace import HeldThreads, Workplace, in_virtual_time

SETTLED = 1.0
"""Virtual seconds within which what was decided is recorded."""


async def ended(job: Any, place: Workplace, seconds: float = SETTLED) -> JobStatus:
    """The job's status once it is final."""
    await asyncio.wait_for(asyncio.gather(job.result(), return_exceptions=True), seconds)
    status: JobStatus = await job.status()
    return status


def free(worker: Worker) -> dict[str, int]:
    return dict(worker._runner.free)


# ---- time limits


@in_virtual_time
async def test_a_coroutine_is_cancelled_at_its_time_limit_and_tried_again() -> None:
    async with Workplace() as place:
        seen: list[str] = []

        @place.app.task(timeout=2.0, attempts=2)
        async def work() -> None:
            try:
                await asyncio.sleep(100)
            finally:
                seen.append("cleaned up")

        worker = await place.hire()
        began = place.loop.time()
        job = await work.enqueue()
        status = await ended(job, place, 60)
        assert (status.state, [start.outcome for start in status.log]) == ("failed", ["timed_out"] * 2)
        assert status.error is not None
        assert (status.error.reason, seen) == ("timeout", ["cleaned up"] * 2)
        assert place.loop.time() - began >= 4
        assert free(worker) == {"async": 10, "thread": 2}


@in_virtual_time
async def test_a_job_may_have_a_time_limit_of_its_own() -> None:
    async with Workplace() as place:

        @place.app.task(timeout=500, attempts=1)
        async def work() -> None:
            await asyncio.sleep(100)

        await place.hire()
        status = await ended(await work.options(timeout=1).enqueue(), place, 5)
        assert status.error is not None
        assert status.error.reason == "timeout"


@in_virtual_time
async def test_a_value_that_came_too_late_is_no_success() -> None:
    """The handler catches its cancellation and returns: its time was over all the same."""
    async with Workplace() as place:

        @place.app.task(timeout=1, attempts=1)
        async def work() -> int:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
            return 5

        await place.hire()
        status = await ended(await work.enqueue(), place, 5)
        assert [start.outcome for start in status.log] == ["timed_out"]


@in_virtual_time
async def test_a_thread_past_its_limit_is_settled_at_once_and_keeps_its_slot() -> None:
    async with Workplace() as place:
        stopped: list[bool] = []

        @place.app.task(timeout=1, attempts=1)
        def work(ctx: Context) -> int:
            stopped.append(ctx.stopping)
            return 5

        threads = HeldThreads()
        worker = await place.start(place.make(pool=threads))
        jobs = await place.app.enqueue_many(work.job() for _ in range(3))
        await place.until(lambda: len(threads.held) == 2)
        first = await ended(jobs[0], place, 1.5)
        assert [start.outcome for start in first.log] == ["timed_out"]
        assert free(worker)["thread"] == 0
        await asyncio.sleep(5)
        assert len(threads.held) == 2, "the third has no slot before a thread ends"
        threads.end()
        await place.until(lambda: len(threads.held) == 2)
        assert stopped == [True]
        status = await jobs[0].status()
        assert (status.state, len(status.log)) == ("failed", 1), "its late value changes nothing"
        threads.end()
        threads.end()
        assert free(worker) == {"async": 10, "thread": 2}


@in_virtual_time
async def test_a_deadline_that_passes_in_the_run_expires_the_job() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=5)
        async def work() -> None:
            await asyncio.sleep(100)

        await place.hire()
        status = await ended(await work.options(deadline=3, timeout=50).enqueue(), place, 5)
        assert status.state == "expired"
        assert status.error is not None
        assert status.error.reason == "deadline"
        assert [start.outcome for start in status.log] == ["timed_out"]


@in_virtual_time
async def test_a_deadline_bounds_all_attempts_together() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=100)
        async def work() -> None:
            await asyncio.sleep(1)
            raise Retry(after=1)

        await place.hire()
        status = await ended(await work.options(deadline=7).enqueue(), place, 12)
        assert status.state == "expired"
        assert 2 <= status.starts <= 4


@in_virtual_time
async def test_a_deadline_in_a_thread_expires_the_job_at_once() -> None:
    async with Workplace() as place:

        @place.app.task
        def work() -> int:
            return 5

        threads = HeldThreads()
        await place.start(place.make(pool=threads))
        job = await work.options(deadline=2).enqueue()
        assert (await ended(job, place, 3)).state == "expired"
        threads.end()
        assert (await job.status()).state == "expired"


# ---- cancellation


@in_virtual_time
async def test_cancelling_a_running_coroutine_ends_it_within_a_moment() -> None:
    """Also when it has a time limit, and whatever the handler raises while it ends."""
    async with Workplace() as place:

        @place.app.task(timeout=3600)
        async def work(error: bool) -> None:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                if error:
                    raise ValueError("while cleaning up") from None
                raise

        await place.hire()
        for error in (False, True):
            job = await work.enqueue(error)
            await asyncio.sleep(1)
            assert await job.cancel("no longer needed") == "running"
            status = await ended(job, place)
            assert (status.state, [start.outcome for start in status.log]) == ("cancelled", ["cancelled"])
            assert status.error is not None
            assert (status.error.reason, status.error.message) == ("cancelled", "no longer needed")


@in_virtual_time
async def test_a_job_that_has_done_its_work_when_it_is_cancelled_has_succeeded() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
            return 5

        await place.hire()
        job = await work.enqueue()
        await asyncio.sleep(1)
        await job.cancel()
        assert await job.result(1) == 5


@pytest.mark.parametrize("limit", [None, 3600.0])
@in_virtual_time
async def test_a_swallowed_cancellation_is_settled_without_the_handler(limit: float | None) -> None:
    """A3: whatever its time limit; the slot stays taken until the handler ends."""
    async with Workplace() as place:
        release = asyncio.Event()

        @place.app.task(timeout=limit)
        async def stubborn() -> int:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return 5

        worker = await place.hire()
        job = await stubborn.enqueue()
        await asyncio.sleep(1)
        await job.cancel()
        status = await ended(job, place, OVERRUN + 2)
        assert status.state == "cancelled"
        assert free(worker)["async"] == 9
        release.set()
        await asyncio.sleep(0.1)
        assert free(worker)["async"] == 10
        assert (await job.status()).state == "cancelled"


@in_virtual_time
async def test_a_swallowed_time_limit_is_settled_without_the_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Workplace() as place:
        release = asyncio.Event()

        @place.app.task(timeout=1, attempts=1)
        async def stubborn() -> None:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()

        worker = await place.hire()
        status = await ended(await stubborn.enqueue(), place, OVERRUN + 3)
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert "ignores that it should end (timeout); its slot stays taken" in caplog.text
        release.set()
        await asyncio.sleep(0.1)
        assert free(worker)["async"] == 10


@in_virtual_time
async def test_a_coroutine_cancelled_before_its_first_step_is_settled() -> None:
    """A2: asyncio never runs it, so nothing in it could say that it ended."""
    async with Workplace() as place:
        ran: list[int] = []

        @place.app.task
        async def work(n: int) -> None:
            ran.append(n)

        worker = place.make()
        start = worker._runner.start

        def start_and_cancel(run: Any) -> None:
            start(run)
            cancel(Fence(run.lease.id, run.lease.starts), "", worker._runner, worker._feed)

        worker._runner.start = start_and_cancel  # type: ignore[method-assign]  # the moment after the start
        await place.start(worker)
        jobs = await place.app.enqueue_many(work.job(n) for n in range(30))
        states = [(await ended(job, place, 5)).state for job in jobs]
        assert (states, ran) == (["cancelled"] * 30, [])
        assert free(worker) == {"async": 10, "thread": 2}
        assert worker._runner.held == {}


@in_virtual_time
async def test_cancelling_a_job_that_waits_for_a_slot_ends_it_unrun() -> None:
    async with Workplace() as place:
        ran: list[int] = []

        @place.app.task
        async def work(n: int) -> None:
            ran.append(n)
            await asyncio.sleep(0.4)

        worker = await place.hire(concurrency=1)
        jobs = [await work.enqueue(n) for n in range(2)]
        # Held ready, as while jobs end fast: leased, and no slot is free.
        await place.until(lambda: ran)
        [lease] = await place.take(worker._tenure.session)
        waiting = worker._runner.take(lease)
        worker._feed._ready["async"].append(waiting)
        assert await jobs[1].cancel("no longer needed") == "running"
        status = await ended(jobs[1], place, 0.2)
        assert (status.state, status.error and status.error.message) == ("cancelled", "no longer needed")
        await asyncio.sleep(2)
        assert ran == [0]
        assert worker._feed.buffered == 0


@in_virtual_time
async def test_a_cancelled_thread_is_asked_to_stop_and_may_finish() -> None:
    async with Workplace() as place:

        @place.app.task
        def work(ctx: Context, heeds: bool) -> int:
            if heeds:
                ctx.check()
            return 5

        threads = HeldThreads()
        await place.start(place.make(pool=threads))
        jobs = [await work.enqueue(heeds) for heeds in (True, False)]
        await place.until(lambda: len(threads.held) == 2)
        for job in jobs:
            assert await job.cancel() == "running"
        await asyncio.sleep(1)
        threads.end()
        threads.end()
        assert [(await ended(job, place)).state for job in jobs] == ["cancelled", "succeeded"]


@in_virtual_time
async def test_a_cancel_that_the_worker_never_heard_of_still_ends_the_job() -> None:
    """The handler fails, with attempts left, before its worker hears that the job was cancelled."""
    async with Workplace() as place:

        @place.app.task(attempts=5)
        async def work() -> None:
            await asyncio.sleep(1)
            raise ValueError("broken")

        worker = await place.hire()
        worker._cancel = lambda fence, note: None  # type: ignore[method-assign]  # deaf to orders
        job = await work.enqueue()
        await asyncio.sleep(0.5)
        assert await job.cancel("no longer needed") == "running"
        status = await ended(job, place, 5)
        assert (status.state, status.starts) == ("cancelled", 1)
        assert status.error is not None
        assert status.error.message == "no longer needed"


# ---- what handlers see


@in_virtual_time
async def test_each_run_has_a_fresh_context() -> None:
    """A8: what one job sets, no other sees: neither on the loop nor in threads."""
    async with Workplace() as place:
        mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="fresh")
        seen: list[str] = []

        @place.app.task
        async def act() -> None:
            seen.append(mark.get())
            mark.set("used")
            await asyncio.sleep(0.1)
            assert mark.get() == "used"

        @place.app.task
        def think() -> None:
            seen.append(mark.get())
            mark.set("used")

        mark.set("outer")
        worker = place.make(concurrency=2)
        await place.start(worker)
        jobs = await place.app.enqueue_many(task.job() for task in (act, think) for _ in range(10))
        for job in jobs:
            await job.result(30)
        assert set(seen) <= {"fresh", "outer"}
        assert len(seen) == 20
        assert mark.get() == "outer"


@in_virtual_time
async def test_the_context_tells_the_job() -> None:
    async with Workplace() as place:
        seen: list[Any] = []

        @place.app.task(attempts=3)
        async def work(ctx: Context) -> None:
            seen.append(
                (ctx.task, ctx.queue, ctx.attempt, ctx.attempts, ctx.starts, ctx.crashes, ctx.stopping)
            )
            assert ctx.tags == ("t",)
            assert ctx.correlation_id == "c"
            assert ctx.deadline is not None
            assert ctx.time_left is not None
            assert 0 < ctx.time_left <= 3600
            if ctx.starts == 1:
                raise Snooze(1)
            if ctx.starts == 2:
                raise Retry(after=1)

        await place.hire()
        job = await work.options(tags=["t"], correlation_id="c", deadline=3600).enqueue()
        await job.result(60)
        assert seen == [
            ("work", "default", 1, 3, 1, 0, False),
            ("work", "default", 1, 3, 2, 0, False),
            ("work", "default", 2, 3, 3, 0, False),
        ]


# ---- what was stored by others


@pytest.mark.parametrize("limit", [float("inf"), 1e308, 1e20])
@in_virtual_time
async def test_a_time_limit_that_no_clock_can_tell_is_none(limit: float) -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            return 5

        await place.hire()
        draft = work.job()
        new = draft.new
        changed = type(new)(id=new.id, task=new.task, queue=new.queue, body=new.body, extras=Extras(limit))
        [receipt] = await place.store.push([changed])
        if receipt.status == "created":
            assert await draft.job(receipt).result(5) == 5


@pytest.mark.parametrize("kind", ["async", "thread"])
@in_virtual_time
async def test_a_value_set_on_a_control_exception_is_judged_like_one_given(kind: str) -> None:
    """The handler writes nonsense into the exception after it was made."""
    async with Workplace() as place:

        def broken(which: str) -> None:
            error: Any = Snooze(1) if which == "snooze" else Retry()
            error.after = error.delay = "soon" if which != "nan" else float("nan")
            raise error

        @place.app.task(attempts=1)
        async def act(which: str) -> None:
            broken(which)

        @place.app.task(attempts=1)
        def think(which: str) -> None:
            broken(which)

        task = act if kind == "async" else think
        await place.hire()
        for which in ("snooze", "retry", "nan"):
            status = await ended(await task.enqueue(which), place, 5)
            assert status.state == "failed"
            assert status.error is not None
            assert "must be a number of seconds" in status.error.message


@in_virtual_time
async def test_fail_ends_the_job_whatever_attempts_are_left() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=9)
        async def work() -> None:
            raise Fail("hopeless")

        await place.hire()
        status = await ended(await work.enqueue(), place)
        assert (status.state, status.starts) == ("failed", 1)
        assert status.error is not None
        assert (status.error.reason, status.error.message) == ("fail", "hopeless")


@in_virtual_time
async def test_a_handler_that_cleans_up_for_long_is_cancelled_once() -> None:
    """The order to cancel comes again with each beat; the clean-up must not be cut off by it."""
    async with Workplace() as place:
        cancelled: list[float] = []

        @place.app.task
        async def work() -> None:
            while True:
                try:
                    await asyncio.sleep(1000 if not cancelled else 4)
                    return
                except asyncio.CancelledError:
                    cancelled.append(place.loop.time())

        await place.hire(beat=0.5)
        job = await work.enqueue()
        await asyncio.sleep(1)
        await job.cancel()
        await job.result(5)
        assert len(cancelled) == 1


# ---- processes


@in_virtual_time
async def test_a_process_job_runs_in_a_slot_of_its_own_kind() -> None:
    async with Workplace() as place:

        @place.app.task(executor="process")
        def work(ctx: Context, n: int) -> list[int]:
            return [n, ctx.attempt]

        @place.app.task
        def think() -> None: ...

        threads = HeldThreads()
        worker = await place.start(place.make(pool=threads, process_slots=3))
        assert free(worker) == {"async": 10, "thread": 2, "process": 3}
        jobs = await place.app.enqueue_many(work.job(n) for n in range(4))
        await place.until(lambda: len(threads.held) == 3)
        assert free(worker) == {"async": 10, "thread": 2, "process": 0}
        thought = await think.enqueue()
        await place.until(lambda: len(threads.held) == 4)
        for _ in range(4):
            threads.end()
        await place.until(lambda: len(threads.held) == 1)
        threads.end()
        await thought.result(5)
        assert [await job.result(5) for job in jobs] == [[n, 1] for n in range(4)]
        assert free(worker) == {"async": 10, "thread": 2, "process": 3}


@in_virtual_time
async def test_a_process_job_without_context_is_killed_at_its_limit_and_its_slot_is_free() -> None:
    async with Workplace() as place:

        @place.app.task(executor="process", timeout=2, attempts=1)
        def work() -> None: ...

        threads = HeldThreads()
        worker = await place.start(place.make(pool=threads, process_slots=1))
        began = place.loop.time()
        status = await ended(await work.enqueue(), place, 10)
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert place.loop.time() - began < 2 + LAST_CHANCE
        assert free(worker)["process"] == 1


@in_virtual_time
async def test_a_process_job_with_context_gets_its_last_chance() -> None:
    async with Workplace() as place:

        @place.app.task(executor="process", timeout=2, attempts=1)
        def work(ctx: Context) -> None: ...

        threads = HeldThreads()
        worker = await place.start(place.make(pool=threads, process_slots=1))
        began = place.loop.time()
        status = await ended(await work.enqueue(), place, 10)
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert 2 + LAST_CHANCE <= place.loop.time() - began < 2 + LAST_CHANCE + 1
        assert free(worker)["process"] == 1


@in_virtual_time
async def test_a_process_that_cannot_be_had_is_refused_at_the_start() -> None:
    async with Workplace() as place:

        @place.app.task(executor="process")
        def work() -> None: ...

        with pytest.raises(ConfigError, match="this worker has no processes"):
            place.make(outside={"processes": None})


# ---- what a watchdog sees


@in_virtual_time
async def test_w14_a_handler_that_outlives_its_limit_by_the_grace_has_its_process_replaced() -> None:
    async with Workplace() as place:

        @place.app.task(timeout=1, attempts=1)
        def think() -> None: ...

        threads, told = HeldThreads(), []
        worker = place.make(pool=threads, supervised=True, grace=20.0)
        worker.leaving = told.append
        await place.start(worker)
        job = await think.enqueue()
        began = place.loop.time()
        assert await place.outcome(worker) is Exit.REPLACE
        assert place.loop.time() - began >= 21
        assert told == [f"think {job.id} does not end, and keeps its slot"]
        assert (await job.status()).state == "failed"


@in_virtual_time
async def test_w14_a_worker_that_nobody_would_replace_goes_on_without_the_slot() -> None:
    async with Workplace() as place:

        @place.app.task(timeout=1, attempts=1)
        def think() -> None: ...

        @place.app.task
        async def work() -> int:
            return 5

        threads = HeldThreads()
        await place.start(place.make(pool=threads, grace=1.0))
        await ended(await think.enqueue(), place, 5)
        await asyncio.sleep(3600)
        assert await (await work.enqueue()).result(5) == 5


# ---- suspects of three lanes


@in_virtual_time
async def test_suspects_of_every_lane_get_their_turn_one_at_a_time() -> None:
    """Two lanes that are empty must not hand the invitation to each other for ever."""
    async with Workplace() as place:
        running, most = [0], [0]

        @place.app.task
        async def looped() -> None:
            running[0] += 1
            most.append(running[0])
            await asyncio.sleep(0.05)
            running[0] -= 1

        @place.app.task
        def threaded() -> None: ...

        @place.app.task(executor="process")
        def apart() -> None: ...

        for tasks in ([looped], [threaded], [apart], [looped, threaded, apart]):
            jobs = await place.app.enqueue_many(task.job() for task in tasks for _ in range(10))
            for _ in range(2):
                session = await place.someone("looped", "threaded", "apart")
                leases = await place.take(session)
                if leases[0].tally.crashes == 0:
                    await place.crash(session, leases)
            worker = await place.hire()
            await place.pass_by(5)  # every lane has found nothing, and waits for something
            await place.crash(session, leases)
            assert {(await job.status()).crashes for job in jobs} == {2}
            began = place.loop.time()
            await asyncio.gather(*(job.result(60) for job in jobs))
            assert place.loop.time() - began < 1 + 0.4 * len(jobs)
            await place.end(worker)
        assert max(most) == 1
