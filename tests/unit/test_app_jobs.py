"""Jobs from enqueueing to their end, on a real SQLite store in which the test itself plays the worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from noria import (
    ConfigError,
    Conflict,
    InvalidInput,
    Job,
    JobCancelled,
    JobError,
    JobExpired,
    JobFailed,
    JobNotFound,
    Noria,
    NotRunning,
    WaitTimeout,
    WrongState,
)
from noria.backends.contract import Backend, Parts, Want, WorkerCard
from noria.backends.sqlite import SqliteBackend
from noria.clock import SystemClock
from noria.ids import IdSource, SessionId, from_text
from noria.model.job import Lane, Lease
from noria.model.limits import MAX_BATCH, POLL
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import State

WHY = Failure.of("exception", "it broke", type="ValueError", traceback="Traceback …")
ABSENT = "0190a0a0-0000-7000-8000-000000000000"


@dataclass
class Receipt:
    number: int


class Hand:
    """A worker's part, played by hand: leases jobs, and ends them as the test wishes."""

    def __init__(self, backend: Backend, app: Noria) -> None:
        self.backend = backend
        self.app = app
        self.session: SessionId | None = None

    async def take(self, count: int = 100) -> list[Lease]:
        if self.session is None:
            card = WorkerCard(
                worker="hand", host="h", pid=1, tasks=tuple(self.app.tasks), queues=("default",)
            )
            self.session = await self.backend.open(card)
        wants = [Want("default", count, lane=lane) for lane in Lane]
        batch = await self.backend.lease(self.session, wants, count, 0.0)
        return batch.leases

    async def end(self, leases: Sequence[Lease], outcome: Outcome, state: State, **more: Any) -> None:
        assert self.session is not None
        began = time.time()
        ends = [Settlement(each.id, each.starts, outcome, state, began=began, **more) for each in leases]
        assert {verdict.value for verdict in await self.backend.settle(self.session, ends)} <= {"ok"}

    async def succeed(self, result: bytes = b'{"number":7}') -> list[Lease]:
        leases = await self.take()
        await self.end(leases, Outcome.SUCCEEDED, State.SUCCEEDED, result=result)
        return leases

    async def fail(self, state: State = State.FAILED, **more: Any) -> None:
        await self.end(await self.take(), Outcome.FAILED, state, failure=WHY, **more)


@pytest.fixture
def app(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Noria:
    """An application on a store of its own, with one task."""
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")

    @app.task
    async def buy(number: int) -> Receipt:
        return Receipt(number)

    return app


@pytest.fixture
async def hand(app: Noria) -> AsyncIterator[Hand]:
    """The application, open, with somebody to do the work."""
    async with app:
        yield Hand(app.backend, app)


Buy = Callable[..., Any]


@pytest.fixture
def buy(app: Noria) -> Any:
    return app.find_task("buy")


# ---- enqueueing


async def test_an_enqueued_job_is_stored_as_it_was_said(hand: Hand, buy: Any) -> None:
    job = await buy.options(priority=3, tags=("a",), correlation_id="c", unique="k", keep=60).enqueue(5)
    status = await job.status()
    assert job.created
    assert (status.id, status.task, status.queue, status.state, status.final) == (
        job.id,
        "buy",
        "default",
        "queued",
        False,
    )
    assert (status.priority, status.tags, status.correlation_id, status.unique_key) == (3, ("a",), "c", "k")
    assert (status.attempt, status.max_attempts, status.starts, status.crashes, status.keep) == (
        1,
        5,
        0,
        0,
        60.0,
    )
    assert status.created_at.utcoffset() == status.run_at.utcoffset() == status.created_at - status.created_at
    assert (status.started_at, status.finished_at, status.error, status.log) == (None, None, None, ())


async def test_a_unique_key_gives_the_live_job(hand: Hand, buy: Any) -> None:
    first = await buy.options(unique="k").enqueue(1)
    second = await buy.options(unique="k").enqueue(2)
    assert (first.created, second.created, first.id == second.id) == (True, False, True)
    await hand.succeed()
    assert (await buy.options(unique="k").enqueue(3)).created


async def test_an_id_enqueued_again_is_the_same_job(hand: Hand, app: Noria, buy: Any) -> None:
    draft = buy.job(1)
    [first], [second] = await app.enqueue_many([draft]), await app.enqueue_many([draft])
    assert (first.created, second.created) == (True, False)
    assert first.id == second.id == draft.id


async def test_many_jobs_are_pushed_in_portions_and_come_in_order(hand: Hand, app: Noria, buy: Any) -> None:
    sizes: list[int] = []
    push = app.backend.push

    async def counting(jobs: Any) -> Any:
        sizes.append(len(jobs))
        return await push(jobs)

    app.backend.push = counting  # the real one, with an ear at it
    drafts = [buy.options(unique=str(n // 2)).job(n) for n in range(2_500)]
    jobs = await app.enqueue_many(iter(drafts))
    assert sizes == [1_000, 1_000, 500]
    assert (
        [job.id for job in jobs[::2]] == [job.id for job in jobs[1::2]] == [draft.id for draft in drafts[::2]]
    )
    assert await app.enqueue_many([]) == []


async def test_one_wrong_job_of_many_stores_none(hand: Hand, app: Noria, buy: Any) -> None:
    with pytest.raises(ValueError, match="number: expected int"):
        await app.enqueue_many(buy.job(n) for n in [1, 2, "three"])
    assert (await app.backend.counts()).queues == {}


# ---- waiting


async def test_a_job_gives_the_value_that_its_task_declares(hand: Hand, buy: Any, app: Noria) -> None:
    job = await buy.enqueue(7)
    waiting = asyncio.gather(job, job.result(timeout=10), app.job(job.id))
    while not await hand.succeed():
        pass
    assert await waiting == [Receipt(7), Receipt(7), {"number": 7}]
    assert await job == Receipt(7)


async def test_a_result_too_large_for_a_hint_is_read(hand: Hand, app: Noria) -> None:
    @app.task
    def fetch() -> bytes:
        return b""

    job = await fetch.enqueue()
    waiting = asyncio.ensure_future(job.result(10))
    await asyncio.sleep(0)
    await hand.succeed(fetch.definition.pack_result(b"x" * 100_000)[0])
    assert await waiting == b"x" * 100_000


async def test_many_waiters_share_one_listener_and_few_reads(hand: Hand, app: Noria, buy: Any) -> None:
    reads: list[int] = []
    get = app.backend.get

    async def counting(ids: Any, parts: Parts = Parts.NONE, watch: str | None = None) -> Any:
        reads.append(len(ids))
        return await get(ids, parts, watch)

    app.backend.get = counting  # the real one, with an ear at it
    jobs = await app.enqueue_many(buy.job(n) for n in range(1_500))
    waiting = asyncio.gather(*jobs, *jobs)
    while len(reads) < 2:
        await asyncio.sleep(0)
    assert reads[:2] == [MAX_BATCH, 500]
    while await hand.succeed():
        pass
    assert await waiting == [Receipt(7)] * 3_000
    assert len(reads) < 20


async def test_an_id_is_of_one_task(hand: Hand, app: Noria, buy: Any) -> None:
    @app.task
    async def sell(number: int) -> None: ...

    first = await buy.enqueue(7)
    words = f"job {first.id} is of task 'buy', and cannot be one of task 'sell'"
    with pytest.raises(Conflict, match=words):
        await sell.options(id=first.id).enqueue(99)
    with pytest.raises(Conflict, match=words):
        await app.enqueue_many([sell.job(1), sell.options(id=first.id).job(99)])
    assert not (await buy.options(id=first.id).enqueue(8)).created
    assert [lease.task for lease in await hand.take()] == ["buy", "sell"]


async def test_a_job_enqueued_again_after_its_end_is_read_at_once(
    hand: Hand, buy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noria.app.outcomes.POLL", 3_600.0)
    first = await buy.enqueue(7)
    waiting = asyncio.ensure_future(first.result())
    await hand.succeed()
    await waiting

    again = await buy.options(id=first.id).enqueue(7)

    async with asyncio.timeout(5):
        assert [await again, await again] == [Receipt(7), Receipt(7)]


async def test_a_lost_hint_costs_one_poll(hand: Hand, app: Noria, buy: Any, short_tmp: Path) -> None:
    """The job is settled by a process that can send no hints."""
    clock = SystemClock()
    deaf = SqliteBackend(
        short_tmp / "store.db", runtime=short_tmp, clock=clock, ids=IdSource(clock), sockets=False
    )  # fmt: skip
    await deaf.start()
    try:
        job = await buy.enqueue(7)
        waiting = asyncio.ensure_future(job.result())
        await asyncio.sleep(0)
        await Hand(deaf, app).succeed()
        async with asyncio.timeout(POLL + 5):
            assert await waiting == Receipt(7)
    finally:
        await deaf.aclose()


async def test_a_wait_ends_in_time_and_the_job_goes_on(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(7)
    with pytest.raises(WaitTimeout, match=rf"{job.id} had not ended after 0\.01 s"):
        await job.result(timeout=0.01)
    with pytest.raises(TimeoutError):
        await job.result(timeout=0)
    await hand.succeed()
    assert await job.result(timeout=10) == Receipt(7)


async def test_a_wait_that_is_cancelled_leaves_the_others(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(7)
    first, second = asyncio.ensure_future(job.result()), asyncio.ensure_future(job.result())
    await asyncio.sleep(0)
    first.cancel()
    await hand.succeed()
    assert await second == Receipt(7)


async def test_waiting_ends_when_the_application_is_closed(app: Noria, buy: Any) -> None:
    async with app:
        job = await buy.enqueue(7)
        waiting = asyncio.ensure_future(job.result())
        await asyncio.sleep(0)
    with pytest.raises(NotRunning, match="was closed while this waited"):
        await waiting


# ---- every other end


async def test_a_failed_job_tells_its_last_error_as_text(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(7)
    await hand.fail()
    with pytest.raises(
        JobFailed, match=rf"{job.id} \(buy\) failed after 1 counted attempt: ValueError: it broke"
    ) as caught:
        await job
    error = caught.value
    assert (error.job_id, error.type, error.text, error.traceback) == (
        job.id,
        "ValueError",
        "it broke",
        "Traceback …",
    )
    assert error.__cause__ is None


@pytest.mark.parametrize("bound", ["expires", "deadline"])
async def test_who_waits_learns_that_a_jobs_time_is_over_although_no_worker_lives(
    hand: Hand, buy: Any, bound: str
) -> None:
    job = await buy.options(**{bound: 0.01}).enqueue(7)

    with pytest.raises(JobExpired):
        await job.result(timeout=20 * POLL)


async def test_a_job_whose_time_is_over_says_so_when_asked_why_it_waits(hand: Hand, buy: Any) -> None:
    job = await buy.options(expires=0.001).enqueue(7)
    while time.time() < (await job.status()).created_at.timestamp() + 0.01:
        await asyncio.sleep(0)

    assert "its time is over" in await job.explain()


async def test_a_job_for_a_time_that_is_over_waits_like_any_other(hand: Hand, buy: Any) -> None:
    first = await buy.enqueue(1)
    second = await buy.options(at=datetime(1970, 1, 2, tzinfo=UTC)).enqueue(2)

    assert [lease.id for lease in await hand.take()] == [from_text(first.id), from_text(second.id)]


@pytest.mark.parametrize("size", [10, 5_000, 100_000])
async def test_who_waits_gets_the_value_of_a_job_that_keeps_nothing_however_large_it_is(
    app: Noria, hand: Hand, size: int
) -> None:
    @app.task(keep=0)
    async def say() -> str: ...

    async with asyncio.timeout(20):
        before = await say.enqueue()
        waiting = asyncio.create_task(before.result())
        await asyncio.sleep(0.1)
        job = await say.enqueue()
        await hand.succeed(b'"%s"' % (b"x" * size))

        assert len(await waiting) == len(await job) == size


async def test_cancelled_and_expired_jobs_say_so(hand: Hand, buy: Any, app: Noria) -> None:
    job = await buy.enqueue(7)
    assert await job.cancel("not needed") == await job.cancel() == "cancelled"
    with pytest.raises(JobCancelled, match="not needed"):
        await job
    late = await buy.options(expires=0.001).enqueue(7)
    while (await late.status()).state != "expired":
        await app.backend.sweep(100)
    with pytest.raises(JobExpired, match="expired"):
        await late


async def test_a_result_of_another_type_is_said_clearly(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(7)
    await hand.succeed(b'{"number":"s3cret"}')
    with pytest.raises(
        JobError, match="not with what its task declares to return: number: expected int"
    ) as caught:
        await job
    assert (caught.value.state, caught.value.job_id) == ("succeeded", job.id)
    assert "s3cret" not in str(caught.value)


async def test_a_job_that_is_not_there_is_said(hand: Hand, app: Noria) -> None:
    job = app.job(ABSENT)
    for call in (job.result, job.status, job.explain, job.cancel, job.retry, job.discard):
        with pytest.raises(JobNotFound, match=ABSENT):
            await call()
    with pytest.raises(ValueError, match="not a job id"):
        app.job("x")


# ---- steering


async def test_cancel_tells_what_the_job_had_come_to(hand: Hand, buy: Any) -> None:
    running = await buy.enqueue(1)
    [lease] = await hand.take()
    assert await running.cancel() == "running"
    assert (await running.status()).cancelling
    await hand.end([lease], Outcome.SUCCEEDED, State.SUCCEEDED, result=b'{"number":1}')
    assert await running.cancel() == "succeeded"


async def test_retry_and_discard_ask_for_a_failed_job(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(1)
    for call, words in (
        (job.retry, "is queued; only failed, cancelled and expired jobs can be retried"),
        (job.discard, "is queued; only failed jobs can be discarded"),
    ):
        with pytest.raises(WrongState, match=words):
            await call()
    await hand.fail()
    assert await job.retry() == "queued"
    await hand.fail()
    assert await job.discard() == "failed"
    assert not (await job.status()).dead


async def test_a_retry_may_give_other_arguments_and_the_old_ones_stay_readable(
    hand: Hand, app: Noria, buy: Any
) -> None:
    job = await buy.enqueue(1)
    await hand.fail()

    assert await job.retry(buy.job(2), delay=0, attempts=7, note="the order was wrong") == "queued"

    status = await job.status()
    assert (status.retries, status.max_attempts) == (1, 7)
    [past] = status.history
    assert (past.number, past.state, past.starts, past.note, past.edited) == (
        1, "failed", 1, "the order was wrong", True,
    )  # fmt: skip
    assert past.args is not None
    assert "1" in past.args
    assert past.error is not None
    [record] = await hand.backend.get([from_text(job.id)], Parts.BODY)
    assert record is not None
    assert record.body == buy.job(2).new.body


async def test_a_draft_of_another_task_gives_no_arguments(hand: Hand, app: Noria, buy: Any) -> None:
    @app.task
    async def other(n: int) -> None: ...

    job = await buy.enqueue(1)
    await hand.fail()
    with pytest.raises(InvalidInput, match="the draft of task 'other'"):
        await job.retry(other.job(1))
    assert (await job.status()).history == ()


async def test_a_retry_stands_back_for_a_live_job_with_its_key(hand: Hand, buy: Any) -> None:
    job = await buy.options(unique="k").enqueue(1)
    await hand.fail()
    await buy.options(unique="k").enqueue(2)
    with pytest.raises(
        WrongState, match="cannot be retried: another live job of its task has its unique key"
    ):
        await job.retry()


async def test_the_log_tells_each_start(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(1)
    await hand.fail(State.RETRYING, delay=0.0)
    await hand.app.backend.sweep(100)
    await hand.succeed()
    status = await job.status()
    first, second = status.log
    assert (first.number, first.outcome, first.worker) == (1, "failed", "hand")
    assert first.error is not None
    assert (first.error.reason, first.error.message) == ("exception", "it broke")
    assert (second.number, second.outcome, second.error) == (2, "succeeded", None)
    assert (status.attempt, status.starts) == (2, 2)


async def test_dead_letters_are_listed_in_pages_and_dealt_with(hand: Hand, app: Noria, buy: Any) -> None:
    jobs = await app.enqueue_many(buy.job(n) for n in range(5))
    await hand.fail()
    ids = [job.id for job in jobs]

    first = await app.dead.page(limit=3)
    rest = await app.dead.page(first.next, limit=3)
    assert [each.id for each in first.items + rest.items] == ids[::-1]
    assert rest.next is None
    assert [each.id async for each in app.dead] == ids[::-1]
    assert (await app.dead.page(tasks=["other"])).items == []

    dealt = await app.dead.retry([ids[0], ABSENT])
    assert [(each.id, each.state) for each in dealt] == [(ids[0], "queued"), (ABSENT, None)]
    assert "is not there" in dealt[1].why
    assert [each.state for each in await app.dead.discard(ids[1:])] == ["failed"] * 4
    assert [each async for each in app.dead] == []
    with pytest.raises(ValueError, match="not a job id"):
        await app.dead.retry([ids[0], "x"])


@pytest.mark.parametrize("limit", [0, -1, 1_001, True, 2.0, None, "5"])
async def test_a_page_of_no_size_is_refused(hand: Hand, app: Noria, limit: Any) -> None:
    with pytest.raises(InvalidInput, match="limit must be a whole number from 1 to 1,000"):
        await app.dead.page(limit=limit)


@pytest.mark.parametrize("wrong", [None, 5, "text", b"bytes"])
async def test_what_is_no_list_is_refused(hand: Hand, app: Noria, wrong: Any) -> None:
    for call, words in (
        (lambda: app.enqueue_many(wrong), "drafts must be a list of drafts"),
        (lambda: app.dead.retry(wrong), "jobs must be a list of job ids"),
        (lambda: app.dead.discard(wrong), "jobs must be a list of job ids"),
        (lambda: app.dead.page(tasks=wrong), "tasks must be a list of names"),
        (lambda: app.dead.page(queues=wrong), "queues must be a list of names"),
    ):
        with pytest.raises(InvalidInput, match=words):
            await call()


def test_what_is_no_list_is_refused_without_a_loop_too(app: Noria) -> None:
    with pytest.raises(InvalidInput, match="drafts must be a list of drafts"):
        app.sync.enqueue_many(None)  # type: ignore[arg-type]  # wrong on purpose


async def test_an_id_may_be_a_uuid_everywhere(hand: Hand, app: Noria, buy: Any) -> None:
    jobs = await app.enqueue_many(buy.job(n) for n in range(2))
    await hand.fail()
    first, second = (UUID(job.id) for job in jobs)

    assert (await app.job(first).status()).id == jobs[0].id
    assert [each.id for each in (await app.dead.page(second)).items] == [jobs[0].id]
    assert [each.id for each in await app.dead.retry([first])] == [jobs[0].id]
    assert [each.id for each in await app.dead.discard([second])] == [jobs[1].id]


async def test_explain_says_what_a_job_waits_for(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(1)
    assert "queued in 'default'" in await job.explain()
    assert "no worker is live" in await job.explain()
    [lease] = await hand.take()
    assert "running on hand since" in await job.explain()
    await hand.end([lease], Outcome.FAILED, State.FAILED, failure=WHY)
    assert "failed at" in await job.explain()
    assert "ValueError: it broke" in await job.explain()
    later = await buy.options(delay=600).enqueue(1)
    assert "scheduled: may run at" in await later.explain()
    assert "(in 10 min)" in await later.explain()


# ---- open and closed


async def test_nothing_works_before_the_application_is_open(app: Noria, buy: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: buy.enqueue(1),
        lambda: app.enqueue_many([buy.job(1)]),
        lambda: app.job(ABSENT).result(),
        lambda: app.dead.page(),
    ]
    for call in calls:
        with pytest.raises(NotRunning, match="async with app"):
            await call()
    with pytest.raises(NotRunning):
        app.worker()


async def test_the_application_may_be_entered_again_and_side_by_side(app: Noria, buy: Any) -> None:
    async with app, app:
        async with app:
            first = app.backend
        assert app.backend is first
        await buy.enqueue(1)
    with pytest.raises(NotRunning):
        await buy.enqueue(1)

    async def user() -> Job[Any]:
        async with app:
            job: Job[Any] = await buy.enqueue(1)
            return job

    assert len({job.id for job in await asyncio.gather(*[user() for _ in range(20)])}) == 20


def test_each_event_loop_has_a_backend_of_its_own(app: Noria, buy: Any) -> None:
    async def enqueue() -> str:
        async with app:
            job: Job[Any] = await buy.enqueue(1)
            return job.id

    first = asyncio.run(enqueue())

    async def look() -> str:
        async with app:
            return (await app.job(first).status()).state

    assert asyncio.run(look()) == "queued"


async def test_an_application_that_cannot_be_opened_stays_closed(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    (short_tmp / "store.db").write_text("this is no database, and long enough to be looked at " * 100)
    app = Noria(f"sqlite:///{short_tmp}/store.db")
    for _ in range(2):
        with pytest.raises(ConfigError, match="is not a Noria database"):
            async with app:
                pass
    with pytest.raises(NotRunning):
        _ = app.backend


async def test_a_given_backend_is_for_one_loop_at_a_time(short_tmp: Path) -> None:
    clock = SystemClock()
    backend = SqliteBackend(short_tmp / "x.db", runtime=short_tmp, clock=clock, ids=IdSource(clock))
    app = Noria(backend=backend)
    async with app:
        assert app.backend is backend

        async def elsewhere() -> None:
            async with app:
                pass

        with pytest.raises(ConfigError, match="open in another event loop"):
            await asyncio.to_thread(asyncio.run, elsewhere())


async def test_ids_are_text_everywhere(hand: Hand, buy: Any) -> None:
    job = await buy.enqueue(1)
    [lease] = await hand.take()
    assert (lease.id, repr(job)) == (from_text(job.id), f"<Job {job.id}>")
