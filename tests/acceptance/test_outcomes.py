"""Whatever a handler does, the outcome is the documented one, once, and the worker goes on."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import noria
from noria import (
    BackendError,
    Backoff,
    Cancel,
    Context,
    Control,
    Fail,
    InvalidArguments,
    InvalidResult,
    Job,
    JobCancelled,
    JobExpired,
    JobFailed,
    JobStatus,
    Noria,
    Retry,
    Snooze,
    Stopped,
    Unavailable,
    Unknown,
    WaitTimeout,
)
from noria.backends.contract import Fence, Want, WorkerCard
from noria.worker import WorkerFault
from tests.support.workplace import Workplace, in_virtual_time

PATIENCE = 30.0


class Shop:
    """An application on a file, with a worker that runs its jobs."""

    def __init__(self, app: Noria) -> None:
        self.app = app
        self.running: asyncio.Task[Any] | None = None

    async def open(self) -> None:
        self.worker = self.app.worker(concurrency=20, threads=4, poll=0.2)
        self.running = asyncio.ensure_future(self.worker.run())
        await self.worker.started.wait()

    async def status(self, job: Job[Any]) -> JobStatus:
        """How a job ended."""
        await asyncio.gather(job.result(PATIENCE), return_exceptions=True)
        status = await job.status()
        assert status.final, status
        return status

    async def still_works(self) -> None:
        """The worker has all its slots, and runs further jobs of both kinds."""
        assert self.running is not None
        assert not self.running.done()
        for name in ("well", "well_in_a_thread"):
            assert await (await self.app.find_task(name).enqueue()).result(PATIENCE) == 5
        async with asyncio.timeout(PATIENCE):
            while self.worker._runner.held:
                await asyncio.sleep(0.01)
        assert self.worker._runner.free == {"async": 20, "thread": 4}


@pytest.fixture
async def shop(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")

    @app.task
    async def well() -> int:
        return 5

    @app.task
    def well_in_a_thread() -> int:
        return 5

    async with app:
        shop = Shop(app)
        yield shop
        assert shop.running is not None
        shop.worker.drain()
        assert (await shop.running).value == "clean"


def declare(app: Noria, kind: str, deed: Callable[[], Any], **options: Any) -> Any:
    """The same deed as a coroutine or in a thread."""
    options = {"attempts": 1, "retry": Backoff(base=0), "name": "deed", **options}
    if kind == "async":

        @app.task(**options)
        async def act() -> Any:
            return deed()

        return act

    @app.task(**options)
    def think() -> Any:
        return deed()

    return think


KINDS = pytest.mark.parametrize("kind", ["async", "thread"])


def raising(make: Callable[[], BaseException]) -> Callable[[], Any]:
    def deed() -> Any:
        raise make()

    return deed


# ---- what handlers raise


class Needy(Exception):
    def __init__(self, a: int, b: int, *, c: int) -> None:
        super().__init__()


class Locked(Exception):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.socket = None
        super().__init__("locked", self.lock)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Pretender(Exception):
    @property
    def __class__(self) -> Any:  # type: ignore[override]  # the point of this test
        raise KeyboardInterrupt


class Halfmade(Snooze):
    def __init__(self) -> None:
        pass


RAISED: dict[str, Callable[[], BaseException]] = {
    "needy": lambda: Needy(1, 2, c=3),
    "locked": Locked,
    "mute": Mute,
    "leaving": Leaving,
    "pretender": lambda: Pretender("x"),
    "half-made": Halfmade,
    "huge": lambda: ValueError("x" * 10_000_000),
    "nul": lambda: ValueError("a\0b"),
    "surrogates": lambda: ValueError("\ud800\udfff"),
    "group": lambda: BaseExceptionGroup("g", [SystemExit(1), ValueError(2)]),
    "exit": lambda: SystemExit(1),
    "interrupt": KeyboardInterrupt,
    "generator-exit": GeneratorExit,
    "cancelled": lambda: asyncio.CancelledError("mine"),
    "timeout": TimeoutError,
    "stop": lambda: StopIteration(3),
    "async-stop": lambda: StopAsyncIteration(3),
    "memory": MemoryError,
    "recursion": RecursionError,
    "assertion": AssertionError,
    "control": lambda: Control("the base"),
    "stopped": lambda: Stopped("not ours"),
    "unavailable": lambda: Unavailable("another store is away"),
    "unknown": lambda: Unknown("another store does not answer"),
    "backend": lambda: BackendError("x"),
    "fault": lambda: WorkerFault("not ours"),
    "arguments": lambda: InvalidArguments("of another job", field="x"),
    "result": lambda: InvalidResult("of another job"),
    "job-failed": lambda: JobFailed("another job"),
    "job-cancelled": lambda: JobCancelled("another job"),
    "wait": lambda: WaitTimeout("another job"),
    "gone": lambda: noria.ResultGone("another job"),
    "config": lambda: noria.ConfigError("x"),
    "task": lambda: noria.UnknownTask("x"),
    "running": lambda: noria.NotRunning("x"),
}


@KINDS
async def test_whatever_is_raised_is_a_failed_attempt_and_the_worker_lives(shop: Shop, kind: str) -> None:
    """W12, W13, D7: all of them twice over, in one worker."""
    for name, make in RAISED.items():
        declare(shop.app, kind, raising(make), name=name, attempts=2)
    await shop.open()
    jobs = {name: await shop.app.find_task(name).enqueue() for name in RAISED}
    for name, job in jobs.items():
        status = await shop.status(job)
        assert (status.state, status.dead) == ("failed", True), name
        assert [start.outcome for start in status.log] == ["failed"] * 2, name
        assert status.error is not None
        assert status.error.reason == "exception", name
        assert status.error.type, name
        with pytest.raises(JobFailed):
            await job
    await shop.still_works()


@KINDS
async def test_control_exceptions_do_what_they_say(shop: Shop, kind: str) -> None:
    starts: dict[str, int] = {}

    def deed(name: str, error: Exception) -> Callable[[], Any]:
        def run() -> Any:
            starts[name] = starts.get(name, 0) + 1
            if starts[name] > 2:
                return starts[name]
            raise error

        return run

    for name, error in {
        "retry": Retry("again", after=0.0),
        "retry-backoff": Retry("again"),
        "snooze": Snooze(0.0, "later"),
        "cancel": Cancel("not needed"),
        "fail": Fail("hopeless"),
    }.items():
        declare(shop.app, kind, deed(name, error), name=name, attempts=3)
    await shop.open()
    ended = {name: await shop.status(await shop.app.find_task(name).enqueue()) for name in ("retry", "retry-backoff",
             "snooze", "cancel", "fail")}  # fmt: skip
    assert {name: status.state for name, status in ended.items()} == {
        "retry": "succeeded", "retry-backoff": "succeeded", "snooze": "succeeded", "cancel": "cancelled",
        "fail": "failed",
    }  # fmt: skip
    outcomes = {name: [start.outcome for start in status.log] for name, status in ended.items()}
    assert outcomes["retry"] == outcomes["retry-backoff"] == ["failed", "failed", "succeeded"]
    assert outcomes["snooze"] == ["snoozed", "snoozed", "succeeded"]
    assert (outcomes["cancel"], outcomes["fail"]) == (["cancelled"], ["failed"])
    assert (ended["snooze"].attempt, ended["retry"].attempt) == (1, 3)
    errors = {name: status.error.reason for name, status in ended.items() if status.error}
    assert (errors["cancel"], errors["fail"]) == ("cancelled", "fail")
    assert starts == {"retry": 3, "retry-backoff": 3, "snooze": 3, "cancel": 1, "fail": 1}
    await shop.still_works()


async def test_a_handler_that_cancels_its_own_task_has_failed(shop: Shop) -> None:
    """W12: its own cancellation is not mistaken for ours."""

    @shop.app.task(attempts=2, retry=Backoff(base=0))
    async def suicidal() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(10)

    @shop.app.task(attempts=1)
    async def awaits_the_cancelled() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(10))
        inner.cancel()
        await inner

    @shop.app.task(attempts=1)
    async def cancels_and_returns() -> int:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return 5

    await shop.open()
    status = await shop.status(await suicidal.enqueue())
    assert [start.outcome for start in status.log] == ["failed", "failed"]
    status = await shop.status(await awaits_the_cancelled.enqueue())
    assert (status.state, status.error and status.error.type) == (
        "failed",
        "asyncio.exceptions.CancelledError",
    )
    assert await (await cancels_and_returns.enqueue()).result(PATIENCE) == 5
    await shop.still_works()


async def test_a_handler_that_cancels_every_task_it_sees_ends_the_worker_loudly(shop: Shop) -> None:
    """It is no zombie afterwards, and its jobs run again elsewhere."""

    @shop.app.task
    async def vandal() -> None:
        for task in asyncio.all_tasks():
            if task.get_name().startswith("noria."):
                task.cancel()

    await shop.open()
    await vandal.enqueue()
    assert shop.running is not None
    with pytest.raises(WorkerFault):
        await asyncio.wait_for(asyncio.shield(shop.running), PATIENCE)
    await shop.open()


# ---- what handlers return


class Sneaky:
    def __iter__(self) -> Any:
        raise SystemExit(1)


def closed_socket() -> socket.socket:
    made = socket.socket()
    made.close()
    return made


def cyclic() -> Any:
    made: list[Any] = []
    made.append(made)
    return made


def deep(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = [made]
    return made


UNFIT: dict[str, tuple[Callable[[], Any], str]] = {
    "socket": (closed_socket, "InvalidResult"),
    "lock": (threading.Lock, "InvalidResult"),
    "object": (object, "InvalidResult"),
    "generator": (lambda: (n for n in range(3)), "InvalidResult"),
    "function": (lambda: print, "InvalidResult"),
    "complex": (lambda: 1j, "InvalidResult"),
    "sneaky": (Sneaky, "InvalidResult"),
    "nan": (lambda: float("nan"), "InvalidResult"),
    "inner-infinity": (lambda: {"a": [1, float("-inf")]}, "InvalidResult"),
    "surrogate": (lambda: "\ud800", "InvalidResult"),
    "huge-int": (lambda: 10**10_000, "InvalidResult"),
    "cyclic": (cyclic, "InvalidResult"),
    "bottomless": (lambda: deep(100_000), "InvalidResult"),
    "deep": (lambda: deep(70), "ResultTooLarge"),
    "large": (lambda: "x" * (1024 * 1024), "ResultTooLarge"),
    "50 MB": (lambda: "x" * 50_000_000, "ResultTooLarge"),
    "50 MB of bytes": (lambda: b"\0" * 50_000_000, "ResultTooLarge"),
}


@KINDS
@pytest.mark.timeout(120)
async def test_a_result_that_cannot_be_kept_fails_once_with_its_reason(shop: Shop, kind: str) -> None:
    """D6: not tried again, since the work was done; the worker lives."""
    for name, (make, _) in UNFIT.items():
        declare(shop.app, kind, make, name=name.replace(" ", "-"), attempts=5)
    await shop.open()
    for name, (_, error) in UNFIT.items():
        job = await shop.app.find_task(name.replace(" ", "-")).enqueue()
        status = await shop.status(job)
        assert (status.state, status.starts) == ("failed", 1), name
        assert status.error is not None
        assert (status.error.reason, status.error.type) == ("result", f"noria.errors.{error}"), name
        assert "result of task" in status.error.message, name
    await shop.still_works()


async def test_the_largest_results_come_back(shop: Shop) -> None:
    @shop.app.task
    async def give(n: int) -> str:
        return "x" * n

    @shop.app.task
    async def nest() -> Any:
        return deep(60)

    await shop.open()
    for n in (0, 4_000, 5_000, 1024 * 1024 - 2):
        assert len(await (await give.enqueue(n)).result(PATIENCE)) == n
    assert await (await nest.enqueue()).result(PATIENCE) == deep(60)


async def test_a_result_of_another_type_than_declared_fails_the_job_and_shows_no_value(shop: Shop) -> None:
    @shop.app.task
    async def give() -> int:
        return "secret"  # type: ignore[return-value]  # the point of this test

    await shop.open()
    job = await give.enqueue()
    with pytest.raises(JobFailed, match="'give' does not return what its annotation says") as caught:
        await job.result(PATIENCE)
    assert "secret" not in str(caught.value)
    assert (await job.status()).state == "failed"


# ---- retries and their ends


async def test_attempts_backoff_and_never(shop: Shop) -> None:
    @shop.app.task(attempts=4, retry=Backoff(base=0, never=(KeyError,)))
    async def broken(kind: str) -> None:
        raise {"key": KeyError, "value": ValueError}[kind]("x")

    await shop.open()
    key, value = (
        await shop.status(await broken.enqueue("key")),
        await shop.status(await broken.enqueue("value")),
    )
    assert (key.starts, value.starts) == (1, 4)
    assert (key.attempt, value.attempt, value.max_attempts) == (1, 4, 4)
    own = await shop.status(await broken.options(attempts=2, retry=Backoff(base=0)).enqueue("value"))
    assert own.starts == 2
    never = await shop.status(await broken.options(retry=Backoff(base=0)).enqueue("key"))
    assert never.starts == 1, "a job's own waits do not undo what its task says of exceptions"


async def test_a_failed_job_can_be_retried_by_hand_and_succeed(shop: Shop) -> None:
    ready = False

    @shop.app.task(attempts=1)
    async def work() -> int:
        if not ready:
            raise ValueError("not yet")
        return 5

    await shop.open()
    job = await work.enqueue()
    assert (await shop.status(job)).dead
    ready = True
    assert await job.retry() == "queued"
    assert await job.result(PATIENCE) == 5
    status = await job.status()
    assert (status.state, status.dead, status.error) == ("succeeded", False, None)


@in_virtual_time
async def test_backoff_waits_grow_up_to_their_cap() -> None:
    async with Workplace() as place:
        starts: list[float] = []

        @place.app.task(attempts=8, retry=Backoff(base=1, cap=20, jitter="none"))
        async def broken() -> None:
            starts.append(place.loop.time())
            raise ValueError("x")

        await place.hire()
        job = await broken.enqueue()
        with pytest.raises(JobFailed):
            await job.result(500)
        waits = [after - before for before, after in itertools.pairwise(starts)]
        for wait, bound in zip(waits, (1, 2, 4, 8, 16, 20, 20), strict=True):
            assert bound <= wait <= bound + 1.5


@in_virtual_time
async def test_starts_are_bounded_whatever_is_mixed() -> None:
    """D13: raises, time-outs and crashes count; snoozes and releases have bounds of their own."""
    async with Workplace() as place:

        @place.app.task(attempts=4, crashes=3, timeout=1, retry=Backoff(base=0.1))
        async def work(ctx: Context) -> None:
            what = (ctx.starts * 7) % 3
            if what == 0:
                raise ValueError("x")
            if what == 1:
                await asyncio.sleep(100)
            raise Retry(after=0)

        for crashes in range(3):
            job = await work.enqueue()
            for _ in range(crashes):
                session = await place.someone("work")
                await place.crash(session, await place.take(session))
            worker = await place.hire()
            await asyncio.gather(job.result(100), return_exceptions=True)
            status = await job.status()
            assert (status.state, status.starts, status.crashes) == ("failed", 4 + crashes, crashes)
            await place.end(worker)
        job = await work.enqueue()
        for _ in range(3):
            session = await place.someone("work")
            await place.crash(session, await place.take(session))
        status = await job.status()
        assert (status.state, status.starts, status.dead) == ("failed", 3, True)
        assert status.error is not None
        assert status.error.reason == "crash"


@in_virtual_time
async def test_a_job_that_snoozes_for_ever_ends() -> None:
    async with Workplace() as place:

        @place.app.task
        async def sleepy() -> None:
            raise Snooze(0)

        from noria.model import outcome

        await place.hire()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(outcome, "MAX_SNOOZES", 20)
            job = await sleepy.enqueue()
            with pytest.raises(JobFailed, match="loop"):
                await job.result(2_000)
        status = await job.status()
        assert (status.starts, status.attempt) == (21, 1)


# ---- time


@in_virtual_time
async def test_a_job_that_has_expired_in_the_queue_is_not_run() -> None:
    """D15."""
    async with Workplace() as place:
        ran: list[str] = []

        @place.app.task
        async def work(name: str) -> None:
            ran.append(name)
            await asyncio.sleep(5)

        first = await work.enqueue("first")
        late = await work.options(expires=1).enqueue("expires")
        later = await work.options(deadline=1).enqueue("deadline")
        await asyncio.sleep(2)
        await place.hire()
        for job in (late, later):
            with pytest.raises(JobExpired):
                await job.result(10)
            assert (await job.status()).state == "expired"
        await first.result(10)
        assert ran == ["first"]


@in_virtual_time
async def test_delayed_jobs_run_at_their_time_and_not_before() -> None:
    async with Workplace() as place:
        ran: dict[int, float] = {}

        @place.app.task
        async def work(n: int) -> None:
            ran[n] = place.loop.time()

        await place.hire()
        began = place.loop.time()
        jobs = [await work.options(delay=n).enqueue(n) for n in (0, 1, 5, 600)]
        for job in jobs:
            await job.result(1_000)
        assert all(n <= at - began <= n + 2.5 for n, at in ran.items())


@pytest.mark.slow
async def test_a_healthy_task_is_unharmed_by_ten_thousand_that_fail(shop: Shop) -> None:
    """D12: their retries are spread by jitter, so that they do not come back as one wave."""

    @shop.app.task(attempts=2, retry=Backoff(base=8))
    async def failing() -> None:
        raise ConnectionError("the dependency is down")

    jobs = await shop.app.enqueue_many(failing.job() for _ in range(10_000))
    await shop.open()
    done, well = 0, shop.app.find_task("well")
    async with asyncio.timeout(55):
        while (await shop.app.backend.counts()).queues["default"].dead < 10_000:
            # A healthy job waits its turn, which is at most the rest of the wave.
            assert await (await well.options(priority=1).enqueue()).result(10) == 5
            done += 1
    assert done >= 5
    statuses = [await job.status() for job in jobs[::100]]
    assert {status.starts for status in statuses} == {2}
    waits = sorted((status.run_at - status.created_at).total_seconds() for status in statuses)
    assert waits[-10] - waits[10] > 4, "they come back spread over the eight seconds"


# ---- cancellation


@in_virtual_time
async def test_cancel_in_each_state_has_one_winner() -> None:
    """D14."""
    async with Workplace() as place:
        ran: list[str] = []

        @place.app.task(attempts=2, retry=Backoff(base=50, jitter="none"))
        async def work(name: str, seconds: float = 0.0, fails: bool = False) -> str:
            ran.append(name)
            await asyncio.sleep(seconds)
            if fails:
                raise ValueError("x")
            return name

        delayed = await work.options(delay=100).enqueue("delayed")
        queued = await work.enqueue("queued")
        assert [await job.cancel() for job in (delayed, queued)] == ["cancelled"] * 2
        await place.hire()
        done, running, retrying = (
            await work.enqueue("done"), await work.enqueue("running", 30.0), await work.enqueue("retrying", fails=True),
        )  # fmt: skip
        await asyncio.sleep(2)
        assert (await retrying.status()).state == "retrying"
        assert [await job.cancel() for job in (done, running, retrying)] == [
            "succeeded",
            "running",
            "cancelled",
        ]
        await asyncio.sleep(200)
        states = [(await job.status()).state for job in (delayed, queued, done, running, retrying)]
        assert states == ["cancelled", "cancelled", "succeeded", "cancelled", "cancelled"]
        assert sorted(ran) == ["done", "retrying", "running"]
        assert [await job.cancel() for job in (delayed, queued, done, running, retrying)] == states


@pytest.mark.parametrize("turns", range(0, 40, 2))
@in_virtual_time
async def test_a_cancel_that_races_has_one_winner(turns: int) -> None:
    async with Workplace() as place:
        ran: list[int] = []

        @place.app.task(attempts=1)
        async def work(n: int) -> int:
            ran.append(n)
            await asyncio.sleep(0)
            return n

        await place.hire(concurrency=2)
        jobs = await place.app.enqueue_many(work.job(n) for n in range(10))
        for _ in range(turns):
            await asyncio.sleep(0)
        said = await asyncio.gather(*(job.cancel() for job in jobs))
        await asyncio.sleep(10)
        for n, (job, word) in enumerate(zip(jobs, said, strict=True)):
            status = await job.status()
            assert status.final
            assert word in (status.state, "running")
            if word == "cancelled":
                assert n not in ran
            if status.state == "succeeded":
                assert await job == n


# ---- the store in between


@in_virtual_time
async def test_the_same_job_pushed_twice_and_found_finished_runs_once() -> None:
    """D1, D2."""
    async with Workplace() as place:
        ran: list[str] = []

        @place.app.task
        async def work(ctx: Context) -> None:
            ran.append(ctx.job_id)

        draft = work.job()
        receipts = await asyncio.gather(*(place.store.push([draft.new]) for _ in range(5)))
        assert sorted(receipt.status for [receipt] in receipts) == ["created"] + ["existing"] * 4
        await place.hire()
        await asyncio.sleep(5)
        [receipt] = await place.store.push([draft.new])
        assert receipt.status == "existing"
        await asyncio.sleep(5)
        assert ran == [draft.id]


@pytest.mark.parametrize("how", ["unavailable", "unknown"])
@pytest.mark.parametrize("call", ["settle", "lease", "renew", "sweep", "recall"])
@in_virtual_time
async def test_an_outage_of_a_minute_costs_no_job_and_no_second_run(call: str, how: str) -> None:
    """D3, D4, D5: whichever call fails, before or after it was done."""
    async with Workplace() as place:
        ran: list[int] = []

        @place.app.task(attempts=2, crashes=1, retry=Backoff(base=0.1))
        async def work(ctx: Context, n: int) -> int:
            ran.append(n)
            if n % 5 == 0 and ctx.attempt == 1:
                raise Retry(after=0.1)
            return n

        await place.hire(ttl=120, beat=2)
        place.faulty.fail(call, *[how] * 15)
        jobs = await place.app.enqueue_many(work.job(n) for n in range(50))
        assert [await job.result(300) for job in jobs] == list(range(50))
        statuses = [await job.status() for job in jobs]
        assert [status.attempt for status in statuses] == [1 + (n % 5 == 0) for n in range(50)]
        assert sorted(ran) == sorted([*range(50), *range(0, 50, 5)])


@in_virtual_time
async def test_a_job_whose_record_is_not_kept_is_gone_after_success() -> None:
    async with Workplace() as place:

        @place.app.task(keep=0)
        async def work() -> int:
            return 5

        job = await work.enqueue()
        waiting = asyncio.ensure_future(job.result(30))
        await asyncio.sleep(0)
        await place.hire()
        with contextlib.suppress(noria.JobNotFound, noria.ResultGone):
            assert await waiting == 5
        with pytest.raises(noria.JobNotFound):
            await job.status()
        assert (await place.store.counts()).erased == 1


async def test_a_lease_cancelled_at_any_await_loses_nothing(shop: Shop) -> None:
    """L3: with the engine in its own thread; what was leased for nobody comes back by itself, uncounted."""

    @shop.app.task(attempts=1)
    async def work(n: int) -> int:
        return n

    jobs = await shop.app.enqueue_many(work.job(n) for n in range(200))
    backend = shop.app.backend
    card = WorkerCard(worker="w", host="h", pid=1, tasks=("work",), queues=("default",))
    session = await backend.open(card)
    wants = [Want("default", 5)]
    cut = 0
    for turns in range(40):
        leasing = asyncio.ensure_future(backend.lease(session, wants, 5, 0.5))
        for _ in range(turns):
            await asyncio.sleep(0)
        if turns % 4 == 3:
            await asyncio.sleep(0.002)
        leasing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            batch = await leasing
            known = [Fence(lease.id, lease.starts) for lease in batch.leases]
            assert await backend.recall(session, ()) >= len(known)
            continue
        cut += 1
    assert cut
    await backend.end(session, if_beat=None, started=())
    await shop.open()
    assert await asyncio.gather(*(job.result(PATIENCE) for job in jobs)) == list(range(200))
    assert {(await job.status()).attempt for job in jobs} == {1}
