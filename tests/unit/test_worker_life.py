"""A worker's life: leasing and giving back, sessions lost and reopened, faults that end it, drains."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from msgspec.structs import replace

from noria import JobFailed
from noria.aio import Crew
from noria.backends.contract import Parts, Vitals
from noria.model.job import Lane, NewJob
from noria.model.state import State
from noria.worker.drain import Exit
from noria.worker.ending import WorkerFault
from noria.worker.pace import HORIZON, Pace
from noria.worker.worker import Worker
from tests.support.workplace import HeldThreads, Workplace, in_virtual_time

# ---- how many to hold ready


def test_an_idle_pace_holds_nothing_ready() -> None:
    assert Pace().ahead == 0


def test_a_pace_holds_what_ends_during_two_round_trips() -> None:
    pace = Pace()
    for _ in range(200):
        pace.ended(100, 0.01)
        pace.leased(0.002)
    assert 30 <= pace.ahead <= 45
    for _ in range(200):
        pace.leased(10.0)
    assert 495 <= pace.ahead <= 10_000 * HORIZON
    for _ in range(200):
        pace.ended(0, 0.01)
    assert pace.ahead == 0


def test_slow_jobs_are_never_held_ready() -> None:
    pace = Pace()
    for _ in range(100):
        pace.ended(2, 1.0)
        pace.leased(0.005)
    assert pace.ahead == 0


# ---- leasing


@in_virtual_time
async def test_a_worker_leases_no_more_than_it_can_run() -> None:
    """W20, R9: a producer a hundred times as fast; what it cannot run stays where others find it."""
    async with Workplace() as place:
        most = 0
        running = 0

        @place.app.task
        async def work() -> None:
            nonlocal most, running
            running += 1
            most = max(most, running)
            await asyncio.sleep(10)
            running -= 1

        worker = await place.hire(concurrency=3)
        await place.app.enqueue_many(work.job() for _ in range(300))
        await asyncio.sleep(5)
        counts = await place.store.counts()
        assert counts.queues["default"].states == {State.RUNNING: 3, State.QUEUED: 297}
        other = await place.hire(concurrency=5)
        await asyncio.sleep(1)
        counts = await place.store.counts()
        assert counts.queues["default"].states[State.RUNNING] == 8
        assert most == 8
        assert worker._feed.buffered == other._feed.buffered == 0


@in_virtual_time
async def test_a_full_settle_buffer_stops_leasing() -> None:
    """R9: the backend takes no outcomes for a while; the worker does not go on collecting them."""
    async with Workplace() as place:
        ran = 0

        @place.app.task
        async def work() -> None:
            nonlocal ran
            ran += 1

        worker = await place.hire(concurrency=10)
        place.faulty.fail("settle", *["unavailable"] * 10_000)
        await place.app.enqueue_many(work.job() for _ in range(5_000))
        await asyncio.sleep(120)
        assert worker._settler.full
        most = 2 * 12 + 1_000
        assert ran <= most + 1_000 + 50
        held = ran
        await asyncio.sleep(60)
        assert ran == held
        place.faulty.heal()
        await place.until(lambda: ran == 5_000)
        await place.until(lambda: worker._settler.settled == 5_000)
        counts = await place.store.counts()
        assert counts.queues["default"].states == {State.SUCCEEDED: 5_000}


@in_virtual_time
async def test_a_job_held_ready_too_long_is_given_back_uncounted() -> None:
    """W20: after half a second, so that an idle neighbour gets it."""
    async with Workplace() as place:
        ran: list[str] = []

        @place.app.task(attempts=1)
        async def work(name: str) -> None:
            ran.append(name)
            await asyncio.sleep(60)

        worker = await place.hire(concurrency=1)
        await work.enqueue("first")
        await place.until(lambda: ran)
        job = await work.enqueue("second")
        [lease] = await place.take(worker._tenure.session)
        worker._feed._hold(lease)
        worker._feed._start()
        assert worker._feed.buffered == 1
        await asyncio.sleep(0.4)
        assert (await job.status()).state == "running"
        await asyncio.sleep(0.4)
        status = await job.status()
        assert (status.state, status.attempt, status.starts) == ("queued", 1, 1)
        assert [start.outcome for start in status.log] == ["released"]
        await place.hire(concurrency=1)
        await place.until(lambda: len(ran) == 2)


@pytest.mark.parametrize("how", ["unknown", "unavailable"])
@in_virtual_time
async def test_leases_that_were_never_heard_of_come_back(how: str) -> None:
    """W5: the backend leased, and the answer was lost; they are given back by the same worker, and run."""
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work(n: int) -> int:
            await asyncio.sleep(0.01)
            return n

        jobs = await place.app.enqueue_many(work.job(n) for n in range(60))
        # Whichever lane asks first, that of these jobs is among them.
        place.faulty.fail("lease", *[how] * 6)
        place.faulty.fail("recall", "unavailable", "unknown")
        await place.hire(concurrency=5, threads=0)
        assert [await job.result(60) for job in jobs] == list(range(60))
        if how == "unknown":
            assert place.faulty.calls["recall"] >= 3
            statuses = [await job.status() for job in jobs]
            assert max(status.starts for status in statuses) >= 2
            assert {status.attempt for status in statuses} == {1}


@in_virtual_time
async def test_a_recall_on_its_way_takes_nothing_that_another_lane_leases_meanwhile() -> None:
    async with Workplace() as place:
        ran: list[int] = []

        @place.app.task(attempts=1)
        async def act(n: int) -> int:
            ran.append(n)
            await asyncio.sleep(2)
            return n

        @place.app.task(attempts=1)
        def think(n: int) -> int:
            ran.append(n)
            return n

        worker = await place.hire(concurrency=5, poll=0.2)
        for _ in range(10):
            place.faulty.fail("lease", "unavailable")
            place.faulty.fail("recall", "slow")
            await asyncio.sleep(0.5)
            await place.app.enqueue_many([act.job(len(ran)), think.job(len(ran) + 1)])
            await asyncio.sleep(5)
        assert place.faulty.calls["recall"] >= 5
        assert len(ran) == 20, "each ran once"
        assert worker._runner.held == {}


@in_virtual_time
async def test_jobs_of_a_task_that_has_become_async_wait_where_they_are_while_no_slot_is_free() -> None:
    """They were enqueued for threads. Were they leased for those, they would come and go until one is free."""
    async with Workplace() as place:

        @place.app.task
        async def changed(n: int) -> int:
            await asyncio.sleep(30)
            return n

        @place.app.task
        def think() -> None:
            pass

        drafts = [changed.job(n) for n in range(8)]
        receipts = await place.store.push([replace(draft.new, lane=Lane.THREAD) for draft in drafts])
        jobs = [draft.job(receipt) for draft, receipt in zip(drafts, receipts, strict=True)]
        await place.hire(concurrency=1, threads=8)

        assert [await job.result(600) for job in jobs] == list(range(8))

        starts = [(await job.status()).starts for job in jobs]
        assert sum(starts) <= 2 * len(jobs)
        await think.enqueue()
        await (await think.enqueue()).result(5)


@in_virtual_time
async def test_a_process_runs_one_suspect_at_a_time() -> None:
    async with Workplace() as place:
        running = most = 0

        @place.app.task(crashes=5)
        async def work() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1

        jobs = await place.app.enqueue_many(work.job() for _ in range(6))
        for _ in range(2):
            session = await place.someone("work")
            leases = await place.take(session)
            assert len(leases) == 6
            await place.crash(session, leases)
        assert {(await job.status()).crashes for job in jobs} == {2}
        await place.hire(concurrency=10)
        await asyncio.gather(*(job.result(300) for job in jobs))
        assert most == 1


@in_virtual_time
async def test_an_unknown_task_is_parked_until_somebody_knows_it() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work() -> int:
            return 5

        await place.hire()
        draft = work.job()
        new: NewJob = type(draft.new)(id=draft.new.id, task="later", queue="default", body=b"{}")
        await place.store.push([new])
        job = place.app.job(draft.id)
        await asyncio.sleep(1)
        status = await job.status()
        assert (status.state, status.attempt) == ("parked", 1)
        await asyncio.sleep(60)
        assert (await job.status()).starts == 1, "it is not handed round in circles"

        @place.app.task(name="later")
        async def later() -> int:
            return 6

        await place.hire()
        assert await job.result(5) == 6


@in_virtual_time
async def test_a_parked_job_fails_after_a_day_with_its_reason() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        draft = work.job()
        await place.store.push([NewJob(id=draft.new.id, task="gone", queue="default", body=b"{}")])
        await place.hire()
        await asyncio.sleep(5)
        place.clock.jump(23 * 3600)
        await asyncio.sleep(5)
        assert (await place.app.job(draft.id).status()).state == "parked"
        place.clock.jump(2 * 3600)
        await asyncio.sleep(5)
        status = await place.app.job(draft.id).status()
        assert status.state == "failed"
        assert status.error is not None
        assert status.error.reason == "unknown_task"


# ---- sessions


@in_virtual_time
async def test_a_lost_session_stops_its_jobs_and_a_new_one_goes_on() -> None:
    async with Workplace() as place:
        ends: list[str] = []

        @place.app.task(attempts=1)
        async def work() -> int:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                ends.append("stopped")
                raise
            ends.append("done")
            return 5

        worker = await place.hire()
        job = await work.enqueue()
        await asyncio.sleep(1)
        first = worker._tenure.session
        await place.store.end(first, if_beat=None, started=())
        place.faulty.fail("open", "unavailable", "unavailable")
        assert await job.result(60) == 5
        assert worker._tenure.session not in (first, 0)
        assert ends == ["stopped", "done"]
        status = await job.status()
        assert (status.starts, [start.outcome for start in status.log]) == (2, ["released", "succeeded"])


@in_virtual_time
async def test_a_worker_that_ends_its_own_silent_session_stops_its_jobs_at_once() -> None:
    """Renewals fail and all else works: it finds itself overdue, and no renewal tells it that it was lost."""
    async with Workplace() as place:
        ends: list[str] = []

        @place.app.task(crashes=2)
        async def work() -> None:
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                ends.append("stopped")
                raise
            ends.append("done")

        place.faulty.fail("renew", *["unavailable"] * 1_000)
        worker = await place.hire(ttl=10.0, beat=2.5)
        first = worker._tenure.session
        job = await work.enqueue()

        await place.until(lambda: place.faulty.done["end"] == 1)
        await asyncio.sleep(0.5)

        assert place.faulty.done["renew"] == 0
        assert ends == ["stopped"]
        assert worker._tenure.session not in (first, 0)
        place.faulty.heal()
        await job.result(60)
        assert [start.outcome for start in (await job.status()).log] == ["crashed", "succeeded"]
        assert ends == ["stopped", "done"]


@in_virtual_time
async def test_after_a_lost_session_orders_are_heard_at_once_again() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None:
            await asyncio.sleep(1000)

        worker = await place.hire(ttl=300, beat=100)
        first = worker._tenure.session
        await place.store.end(first, if_beat=None, started=())
        worker._beat.hurry()
        await place.until(lambda: worker._tenure.session not in (first, 0))
        job = await work.enqueue()
        await asyncio.sleep(1)
        began = place.loop.time()
        await job.cancel()
        await asyncio.gather(job.result(50), return_exceptions=True)
        assert place.loop.time() - began < 5, "a hint brings the order, not the beat"
        assert (await job.status()).state == "cancelled"


@in_virtual_time
async def test_a_burst_does_not_end_because_its_session_was_lost() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work(n: int) -> None:
            await asyncio.sleep(1)

        jobs = await place.app.enqueue_many(work.job(n) for n in range(5))
        place.faulty.fail("open", "ok", *["unavailable"] * 5)
        worker = await place.hire(concurrency=1, burst=True)
        await place.store.end(worker._tenure.session, if_beat=None, started=())
        assert await place.outcome(worker) is Exit.CLEAN
        assert {(await job.status()).state for job in jobs} == {"succeeded"}


@in_virtual_time
async def test_a_burst_ends_although_a_kind_of_task_has_no_slots() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        @place.app.task
        def stuck() -> None: ...

        done, waits = await work.enqueue(), await stuck.enqueue()
        worker = await place.hire(threads=0, burst=True)

        assert await asyncio.wait_for(place.outcome(worker), 10) is Exit.CLEAN
        assert [(await job.status()).state for job in (done, waits)] == ["succeeded", "queued"]


@in_virtual_time
async def test_a_burst_does_not_end_while_suspects_wait_for_each_other() -> None:
    async with Workplace() as place:

        @place.app.task(crashes=5)
        async def act() -> None:
            await asyncio.sleep(1)

        @place.app.task(crashes=5)
        def think() -> None: ...

        jobs = [await task.enqueue() for task in (act, think) for _ in range(4)]
        for _ in range(2):
            session = await place.someone("act", "think")
            await place.crash(session, await place.take(session))
        worker = await place.hire(burst=True)

        assert await place.outcome(worker) is Exit.CLEAN
        assert {(await job.status()).state for job in jobs} == {"succeeded"}


@in_virtual_time
async def test_a_burst_stays_until_silent_sessions_are_judged() -> None:
    """Where only bursts work, nobody else would ever give back what a worker held that is gone with its journal."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        job = await work.enqueue()
        await place.take(await place.someone("work"))
        await asyncio.sleep(60)
        worker = await place.hire(burst=True)

        assert await asyncio.wait_for(place.outcome(worker), 60) is Exit.CLEAN
        assert (await job.status()).state == "succeeded"


@in_virtual_time
async def test_an_outage_is_told_when_it_begins_and_ends_and_rarely_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        await place.hire()
        caplog.clear()
        place.faulty.fail("lease", *["unavailable"] * 150)
        place.faulty.fail("sweep", *["unavailable"] * 20)
        await asyncio.sleep(600)

    lines = [record.getMessage() for record in caplog.records]
    leasing = [line for line in lines if line.startswith("no jobs can be leased, trying again: ")]
    assert 3 <= len(leasing) <= 30
    assert len([line for line in lines if line.startswith("jobs are leased again, after ")]) in range(
        1, 4
    )  # each kind of slot asks
    assert len([line for line in lines if line.startswith("the store is swept again, after ")]) == 1


@in_virtual_time
async def test_a_start_stays_in_the_journal_until_its_outcome_is_recorded() -> None:
    """A process may die of what a handler has left behind: then its start must not look as if it had not been."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        worker = await place.hire()
        place.faulty.fail("settle", *["unavailable"] * 10_000)
        await work.enqueue()
        await place.until(lambda: worker._runner.finished["async"])
        written = worker._runner._journal.remains().started
        place.faulty.heal()
        await place.until(lambda: worker._settler.settled)

        assert (len(written), worker._runner._journal.remains().started) == (1, ())


@in_virtual_time
async def test_clock_jumps_change_nothing_for_a_running_session() -> None:
    """T4: +1 day and -1 hour, with a neighbour that could end it."""
    async with Workplace() as place:

        @place.app.task(attempts=1, crashes=1)
        async def work() -> int:
            await asyncio.sleep(120)
            return 5

        workers = [await place.hire(), await place.hire()]
        sessions = [worker._tenure.session for worker in workers]
        jobs = [await work.enqueue() for _ in range(4)]
        await asyncio.sleep(10)
        for jump in (86_400, -3_600, -86_400, 86_400):
            place.clock.jump(jump)
            await asyncio.sleep(20)
        assert [await job.result(100) for job in jobs] == [5] * 4
        assert {(await job.status()).starts for job in jobs} == {1}
        assert [worker._tenure.session for worker in workers] == sessions


@in_virtual_time
async def test_a_silent_session_is_ended_after_one_beat_of_suspicion() -> None:
    async with Workplace() as place:

        @place.app.task(crashes=2)
        async def work() -> int:
            return 5

        job = await work.enqueue()
        session = await place.someone("work", ttl=10.0)
        assert len(await place.take(session)) == 1
        began = place.loop.time()
        await place.hire(beat=2.5)
        assert await job.result(60) == 5
        waited = place.loop.time() - began
        assert 10.0 <= waited <= 14.5
        status = await job.status()
        assert [start.outcome for start in status.log] == ["crashed", "succeeded"]


@in_virtual_time
async def test_a_session_that_beats_is_never_ended_however_late_it_looks() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            return 5

        await work.enqueue()
        session = await place.someone("work", ttl=0.5)
        assert len(await place.take(session)) == 1
        await place.hire(beat=2.5)
        for _ in range(30):
            await asyncio.sleep(1.0)
            assert not (await place.store.renew(session, Vitals())).lost


# ---- faults


@pytest.mark.parametrize("call", ["renew", "settle", "sweep", "overdue", "lease"])
@in_virtual_time
async def test_a_bug_in_a_part_ends_the_worker_loudly(call: str, caplog: pytest.LogCaptureFixture) -> None:
    """W16: no zombie that beats and does not work."""
    async with Workplace() as place:
        stopped: list[str] = []

        @place.app.task
        async def work() -> None:
            try:
                await asyncio.sleep(0.2)
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                stopped.append("stopped")
                raise

        @place.app.task
        async def quick() -> None: ...

        worker = await place.hire(poll=0.5)
        await work.enqueue()
        await asyncio.sleep(1)
        place.faulty.fail(call, *[ZeroDivisionError("a bug")] * 5)
        await quick.enqueue()
        with pytest.raises(WorkerFault, match="a bug"):
            await asyncio.wait_for(place.outcome(worker), 30)
        assert any(record.levelno == logging.CRITICAL for record in caplog.records)
        assert stopped == ["stopped"], "nobody would record what its handlers still do"


@pytest.mark.parametrize("where", ["start", "ended", "expired", "observer", "thread"])
@in_virtual_time
async def test_a_bug_in_a_callback_ends_the_worker_loudly(where: str) -> None:
    """A6: the loop would only log it."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        @place.app.task(timeout=1)
        def think() -> None: ...

        def broken(*args: Any) -> Any:
            raise ZeroDivisionError("a bug")

        pool = HeldThreads() if where == "expired" else None
        worker = place.make(pool=pool, observer=broken if where == "observer" else None)
        await place.start(worker)
        if where == "start":
            worker._runner.start = broken  # type: ignore[method-assign]  # a bug
        elif where == "expired":
            worker._runner._doomed = broken  # type: ignore[method-assign]  # a bug
        elif where in ("ended", "thread"):
            worker._runner._judged = broken  # type: ignore[method-assign]  # a bug
        await (think if where in ("thread", "expired") else work).enqueue()
        with pytest.raises(WorkerFault, match="a bug"):
            await asyncio.wait_for(place.outcome(worker), 30)


@in_virtual_time
async def test_a_part_that_others_cancel_ends_the_worker() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None: ...

        worker = await place.hire()
        [beat] = [task for task in asyncio.all_tasks() if task.get_name() == "noria.beat"]
        beat.cancel()
        with pytest.raises(WorkerFault, match="beat"):
            await asyncio.wait_for(place.outcome(worker), 5)


@in_virtual_time
async def test_a_job_that_cancels_every_task_has_crashed_with_all_that_had_begun() -> None:
    """Handed back uncounted, it would end one worker after another."""
    async with Workplace() as place:
        test = asyncio.current_task()

        @place.app.task(crashes=2)
        async def poison() -> None:
            for task in asyncio.all_tasks() - {test, asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(1)

        @place.app.task
        async def neighbour() -> None:
            await asyncio.sleep(1000)

        job = await poison.enqueue()
        for crashes in (1, 2):
            worker = await place.hire()
            beside = await neighbour.enqueue()
            with pytest.raises(WorkerFault, match="cancelled by others, as by a job that cancels every task"):
                await asyncio.wait_for(place.outcome(worker), 60)
            status = await beside.status()
            assert (status.state, status.starts) == ("running", 1), (
                "others end the session, with what had begun"
            )
            assert (await job.status()).crashes == crashes - 1
        await place.hire()
        with pytest.raises(JobFailed):
            await job.result(60)
        status = await job.status()
        assert [start.outcome for start in status.log] == ["crashed", "crashed"]


@in_virtual_time
async def test_a_worker_whose_run_is_cancelled_hands_its_jobs_back() -> None:
    async with Workplace() as place:
        events: list[str] = []

        @place.app.task(attempts=1)
        async def work() -> int:
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                events.append("stopped")
                raise
            return 5

        @asynccontextmanager
        async def resources() -> AsyncIterator[None]:
            try:
                yield
            finally:
                events.append("closed")

        worker = await place.hire(lifespan=resources)
        job = await work.enqueue()
        await asyncio.sleep(1)
        running = place.outcome(worker)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 5)
        assert events == ["stopped", "closed"]
        status = await job.status()
        assert (status.state, status.attempt) == ("queued", 1)
        assert (await place.store.counts()).workers == []
        await place.hire()
        assert await job.result(10) == 5


# ---- drains


@in_virtual_time
async def test_a_drain_finishes_what_runs_and_leases_no_more() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work() -> int:
            await asyncio.sleep(3)
            return 5

        worker = await place.hire(concurrency=2, grace=30)
        jobs = await place.app.enqueue_many(work.job() for _ in range(4))
        await asyncio.sleep(1)
        began = place.loop.time()
        assert await place.end(worker) is Exit.CLEAN
        assert place.loop.time() - began < 3
        states = sorted([(await job.status()).state for job in jobs])
        assert states == ["queued", "queued", "succeeded", "succeeded"]
        assert (await place.store.counts()).workers == []


@in_virtual_time
async def test_a_drain_hands_back_what_does_not_end_in_the_grace_uncounted() -> None:
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def slow() -> None:
            await asyncio.sleep(1000)

        @place.app.task(attempts=1)
        async def stubborn() -> None:
            while True:
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    if place.loop.time() > 500:
                        raise

        @place.app.task(attempts=1)
        def think() -> None: ...

        pool = HeldThreads()
        worker = await place.start(place.make(pool=pool, grace=8))
        jobs = [await task.enqueue() for task in (slow, stubborn, think)]
        await asyncio.sleep(1)
        began = place.loop.time()
        assert await place.end(worker) is Exit.CUT
        assert 5 <= place.loop.time() - began <= 9
        for job in jobs:
            status = await job.status()
            assert (status.state, status.attempt, status.starts) == ("queued", 1, 1)
            assert [start.outcome for start in status.log] == ["released"]
        pool.end()


@in_virtual_time
async def test_a_drain_tells_what_it_waits_for_and_counts_down(caplog: pytest.LogCaptureFixture) -> None:
    async with Workplace() as place:

        @place.app.task
        async def other() -> int:
            return 5

        @place.app.task(attempts=1)
        async def parent() -> int:
            await asyncio.sleep(1)
            return await (await other.enqueue())  # nobody leases it while the only worker drains

        worker = await place.hire(grace=14)
        job = await parent.enqueue()
        await asyncio.sleep(0.5)
        assert await place.end(worker) is Exit.CUT

        told = [record.getMessage() for record in caplog.records if "draining" in record.getMessage()]
        assert [
            f"{seconds} s more for 1 job: parent {job.id};" in line
            for seconds, line in zip((11, 6, 1), told, strict=True)
        ] == [True, True, True], told
        assert all("asked to stop again, it hands them back at once" in line for line in told)


@in_virtual_time
async def test_a_short_drain_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with Workplace() as place:

        @place.app.task
        async def work() -> None:
            await asyncio.sleep(0.5)

        worker = await place.hire()
        await work.enqueue()
        await asyncio.sleep(0.1)
        assert await place.end(worker) is Exit.CLEAN
        assert [record for record in caplog.records if "draining" in record.getMessage()] == []


@in_virtual_time
async def test_a_second_drain_does_not_wait() -> None:
    async with Workplace() as place:

        @place.app.task
        async def slow() -> None:
            await asyncio.sleep(1000)

        worker = await place.hire(grace=600)
        job = await slow.enqueue()
        await asyncio.sleep(1)
        worker.drain()
        await asyncio.sleep(5)
        began = place.loop.time()
        assert await place.end(worker) is Exit.CUT
        assert place.loop.time() - began < 1
        assert (await job.status()).state == "queued"


@in_virtual_time
async def test_a_drain_ends_in_time_though_the_backend_is_away() -> None:
    """A7, L1: bounded; what could not be recorded runs again, and the exit says so."""
    async with Workplace() as place:

        @place.app.task
        async def work() -> int:
            return 5

        worker = await place.hire(grace=10)
        for call in ("settle", "renew", "sweep", "overdue", "lease", "recall", "end"):
            place.faulty.fail(call, *["unavailable"] * 1_000)
        await asyncio.sleep(3)
        place.faulty._plan.pop("lease")
        place.faulty._plan.pop("recall")
        job = await work.enqueue()
        await asyncio.sleep(10)
        assert (await job.status()).state == "running"
        began = place.loop.time()
        assert await place.end(worker) is Exit.CUT
        assert place.loop.time() - began <= 11
        place.faulty.heal()
        await place.hire()
        assert await job.result(60) == 5


@pytest.mark.parametrize("nth", range(0, 60, 3))
@in_virtual_time
async def test_a_drain_at_any_moment_loses_nothing(nth: int) -> None:
    """L1, L3: the n-th turn of the loop while jobs flow; what was leased comes back, no attempt is spent."""
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work(n: int) -> int:
            await asyncio.sleep(0.001 * (n % 3))
            return n

        jobs = await place.app.enqueue_many(work.job(n) for n in range(200))
        worker = await place.hire(concurrency=3, grace=1)
        for _ in range(nth):
            await asyncio.sleep(0)
        await place.end(worker, now=nth % 2 == 0)
        states = [(await job.status()).state for job in jobs]
        assert set(states) <= {"queued", "succeeded"}
        await place.hire(concurrency=50)
        assert [await job.result(60) for job in jobs] == list(range(200))
        assert {(await job.status()).attempt for job in jobs} == {1}


@pytest.mark.parametrize("nth", range(12))
@in_virtual_time
async def test_a_lease_cancelled_at_any_await_loses_nothing(nth: int) -> None:
    """L3: cancelled between the pop and its hand-over, the jobs come back with the session's end."""
    async with Workplace() as place:

        @place.app.task(attempts=1)
        async def work(n: int) -> int:
            return n

        session = await place.someone("work")
        leasing = asyncio.ensure_future(place.take(session, 50))
        for _ in range(nth // 2):
            await asyncio.sleep(0)
        jobs = await place.app.enqueue_many(work.job(n) for n in range(20))
        for _ in range(nth % 2):
            await asyncio.sleep(0)
        leasing.cancel()
        await asyncio.gather(leasing, return_exceptions=True)
        await place.store.end(session, if_beat=None, started=())
        await place.hire()
        assert [await job.result(10) for job in jobs] == list(range(20))


# ---- the crew


@in_virtual_time
async def test_a_crew_hears_of_each_fault_once_and_ends_with_its_owner() -> None:
    heard: list[tuple[str, str]] = []
    crew = Crew("crew", lambda name, error: heard.append((name, str(error))))

    async def broken() -> None:
        raise ValueError("broken")

    async def stubborn() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(100)

    async def patient() -> None:
        await asyncio.sleep(100)

    crew.start("broken", broken())
    stop = crew.start("patient", patient())
    crew.start("patient", patient())
    crew.start("stubborn", stubborn())
    await asyncio.sleep(1)
    stop()
    stop()
    await asyncio.sleep(1)
    assert heard == [("crew.broken", "broken")]
    began = asyncio.get_running_loop().time()
    assert await crew.aclose(2.0) == ["crew.stubborn"]
    assert asyncio.get_running_loop().time() - began <= 2.1
    crew.guarded("late", lambda: 1 / 0)()
    assert len(heard) == 1


@in_virtual_time
async def test_a_crews_task_is_kept_though_nobody_else_holds_it() -> None:
    """A1: asyncio itself holds tasks weakly."""
    crew = Crew("crew", lambda name, error: None)
    ended = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(10)
        ended.set()

    for _ in range(100):
        crew.start("work", work())
    gc.collect()
    await asyncio.sleep(11)
    assert ended.is_set()
    assert await crew.aclose(1.0) == []


@in_virtual_time
async def test_results_are_kept_with_their_jobs() -> None:
    async with Workplace() as place:

        @place.app.task
        async def work(n: int) -> list[int]:
            return [n] * n

        worker: Worker = await place.hire()
        jobs = await place.app.enqueue_many(work.job(n) for n in range(50))
        assert [await job.result(10) for job in jobs] == [[n] * n for n in range(50)]
        records = await place.store.get([job._id for job in jobs], Parts.RESULT)
        assert all(record is not None and record.result for record in records)
        assert worker._runner.held == {}
