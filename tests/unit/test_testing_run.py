"""`noria.testing.run`: what tests of applications can do with time, and with their worker."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
import uvloop

import noria.testing
from noria import (
    Backoff,
    CallNext,
    ConfigError,
    Context,
    Depends,
    InvalidInput,
    InvalidOption,
    JobFailed,
    JobNotFound,
    Noria,
    Retry,
    Router,
    UnknownTask,
)
from noria.testing import Deadlock, Enqueued, Stuck, Trial

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Shop:
    """An application whose jobs note what they do."""

    def __init__(self) -> None:
        self.app = Noria("sqlite:///never-opened.db")
        self.notes: list[Any] = []

        @self.app.task
        async def note(what: str, *, seconds: float = 0.0) -> str:
            await asyncio.sleep(seconds)
            self.notes.append(what)
            return what

        @self.app.task(attempts=3, retry=Backoff(base=60, jitter="none"))
        async def fail(times: int, ctx_free: bool = True) -> int:
            self.notes.append("try")
            if len(self.notes) <= times:
                raise ValueError("not yet")
            return len(self.notes)

        @self.app.task
        async def twice(what: str) -> None:
            await note.enqueue(what + "1")
            await note.options(delay=3600).enqueue(what + "2")

        self.note, self.fail, self.twice = note, fail, twice


@pytest.fixture
def shop() -> Shop:
    return Shop()


# ---- time


async def test_a_value_that_is_due_in_a_year_is_there_at_once(shop: Shop) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        job = await shop.note.options(delay=300 * 86_400).enqueue("late")
        assert await job == "late"
        assert t.now - NOON >= timedelta(days=300)


async def test_drain_runs_what_is_ready_and_what_that_enqueues_and_leaves_what_is_due_later(
    shop: Shop,
) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        await shop.twice.enqueue("a")
        await shop.note.enqueue("slow", seconds=30)
        await t.drain()
        assert sorted(shop.notes) == ["a1", "slow"]
        assert 30 <= (t.now - NOON).total_seconds() < 31

        await t.advance(3600)
        assert shop.notes[-1] == "a2"


async def test_drain_takes_no_time_if_no_job_does(shop: Shop) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        for number in range(300):
            await shop.note.enqueue(str(number))
        await t.drain()
        assert len(shop.notes) == 300
        assert t.now == NOON


async def test_a_retry_waits_for_its_time(shop: Shop) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        job = await shop.fail.enqueue(2)
        await t.drain()
        assert (await job.status()).state == "retrying"
        await t.advance(59)
        assert shop.notes == ["try"]
        await t.advance(1.5)
        assert shop.notes == ["try"] * 2
        assert await job == 3
        assert (t.now - NOON).total_seconds() >= 180


async def test_what_is_due_exactly_then_has_run_when_time_has_passed(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        await shop.note.options(delay=60).enqueue("then")
        await t.advance(60)
        assert shop.notes == ["then"]


async def test_time_limits_and_deadlines_are_virtual(shop: Shop) -> None:
    async with noria.testing.run(shop.app) as t:
        job = await shop.note.options(timeout=5, attempts=1).enqueue("x", seconds=100)
        await t.advance(4)
        assert (await job.status()).state == "running"
        await t.advance(2)
        with pytest.raises(JobFailed, match="time limit"):
            await job


async def test_time_stands_still_for_a_thread(shop: Shop) -> None:
    @shop.app.task(timeout=10)
    def slow() -> str:
        time.sleep(0.2)
        return threading.current_thread().name

    @shop.app.task
    def nested() -> str:
        return shop.app.sync.result(shop.app.sync.enqueue(shop.note, "from a thread"))

    async with noria.testing.run(shop.app, now=NOON, patience=30) as t:
        assert "noria-test" in await (await slow.enqueue())
        assert await (await nested.enqueue()) == "from a thread"
        assert await asyncio.to_thread(lambda: time.sleep(0.05) or 5) == 5
        assert t.now == NOON


async def test_a_job_for_a_process_runs_in_a_thread(shop: Shop) -> None:
    @shop.app.middleware
    async def doubling(ctx: Context, call_next: CallNext) -> Any:
        value = await call_next()
        return value * 2 if ctx.task == "crunch" else value

    @shop.app.task(executor="process", attempts=2, retry=Backoff(base=60, jitter="none"))
    def crunch(ctx: Context, n: int, more: Annotated[int, Depends(lambda: 1)]) -> int:
        if ctx.attempt == 1:
            raise OSError("not yet")
        return n + more

    async with noria.testing.run(shop.app, now=NOON, patience=30) as t:
        assert await (await crunch.enqueue(20)) == 42
        assert t.now - NOON >= timedelta(seconds=60)


async def test_a_thread_that_waits_for_time_gets_it_after_a_while(shop: Shop) -> None:
    @shop.app.task(timeout=10, attempts=1)
    def stubborn(ctx: Context) -> None:
        while not ctx.stopping:
            time.sleep(0.01)

    async with noria.testing.run(shop.app, now=NOON, patience=0.1) as t:
        with pytest.raises(JobFailed, match="time limit"):
            await (await stubborn.enqueue())
        assert 10 <= (t.now - NOON).total_seconds() < 12


async def test_time_stands_still_while_an_answer_may_come(shop: Shop) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.1)
        writer.write(line.upper())
        await writer.drain()
        writer.close()

    @shop.app.task(timeout=5)
    async def ask(port: int) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        return line.decode().strip()

    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        async with noria.testing.run(shop.app, now=NOON, patience=30) as t:
            server = await asyncio.start_server(answer, sock=listening)
            async with server:
                assert await (await ask.enqueue(port)) == "HELLO"
            assert t.now == NOON


async def test_everything_in_the_loop_shares_the_time(shop: Shop) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        await asyncio.sleep(3600)
        assert t.now - NOON == timedelta(hours=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(86_400):
                await asyncio.Event().wait()
        assert t.now - NOON == timedelta(hours=25)
    assert asyncio.get_running_loop().time() <= time.monotonic()


async def test_the_loop_is_as_before_afterwards(shop: Shop) -> None:
    loop = asyncio.get_running_loop()
    before = dict(vars(loop))
    async with noria.testing.run(shop.app):
        assert vars(loop).keys() != before.keys()
    after = vars(loop)
    assert after.keys() == before.keys()
    assert after["_selector"] is before["_selector"]
    await asyncio.wait_for(asyncio.to_thread(time.sleep, 0.01), 5)


# ---- what was enqueued


async def test_what_was_enqueued_can_be_asked(shop: Shop) -> None:
    async with noria.testing.run(shop.app, now=NOON) as t:
        job = await shop.note.options(delay=60, priority=3, tags=["x"], unique="u").enqueue("a")
        again = await shop.note.options(unique="u").enqueue("b", seconds=2)
        await shop.app.enqueue_many([shop.twice.job("c")])
        await t.drain()

        first, second, *inner = t.enqueued(shop.note)
        assert first == Enqueued(
            job_id=job.id, task="note", queue="default", arguments={"what": "a", "seconds": 0.0}, created=True,
            how="created",
            due=NOON + timedelta(seconds=60), delay=60, priority=3, unique="u", tags=("x",), correlation_id="",
        )  # fmt: skip
        assert (second.job_id, second.created, again.id) == (job.id, False, job.id)
        assert [each.arguments["what"] for each in inner] == ["c1", "c2"]
        assert len(t.enqueued(shop.note, what="c1")) == 1
        assert t.enqueued("note", what="c1", seconds=1.0) == []
        assert [each.task for each in t.enqueued()] == ["note", "note", "twice", "note", "note"]


# ---- overrides


async def provider() -> str:
    raise OSError("no network in tests")


async def test_dependencies_are_overridden(shop: Shop) -> None:
    @shop.app.task
    async def work(value: Annotated[str, Depends(provider)]) -> str:
        return value

    async with noria.testing.run(shop.app, overrides={provider: lambda: "fake"}):
        assert await (await work.enqueue()) == "fake"
    with pytest.raises(ConfigError, match="no task depends"):
        async with noria.testing.run(shop.app, overrides={test_dependencies_are_overridden: provider}):
            pass


# ---- mishaps


async def test_a_process_job_runs_in_a_thread_of_the_test_with_all_that_stands_around_it(shop: Shop) -> None:
    """So that a test sees what it does, and may override what it depends on."""

    async def rate() -> float:
        raise AssertionError("overridden")

    @shop.app.middleware
    async def noting(ctx: Context, call_next: Any) -> Any:
        shop.notes.append(ctx.task)
        return await call_next()

    @shop.app.task(executor="process")
    def price(net: float, by: Annotated[float, Depends(rate)]) -> float:
        shop.notes.append(threading.current_thread() is threading.main_thread())
        return net * by

    @shop.app.task(executor="process", timeout=60, attempts=1)
    def forever(ctx: Context) -> None:
        while not ctx.stopping:
            time.sleep(0.001)

    async with noria.testing.run(shop.app, overrides={rate: lambda: 2.0}):
        assert await (await price.enqueue(4.0)) == 8.0
        assert shop.notes == ["price", False]
        with pytest.raises(JobFailed, match="longer than its time limit"):
            await (await forever.enqueue())


async def test_a_killed_worker_runs_no_clean_up_and_its_jobs_run_again(shop: Shop) -> None:
    seen: list[tuple[int, int]] = []

    @shop.app.task
    async def work(ctx: Context) -> str:
        seen.append((ctx.starts, ctx.crashes))
        try:
            await asyncio.sleep(10)
        finally:
            shop.notes.append(f"cleaned up {ctx.starts}")
        return "done"

    async with noria.testing.run(shop.app, now=NOON) as t:
        job = await work.enqueue()
        await t.started(job)
        await t.advance(5)
        await t.kill()
        assert shop.notes == []
        assert await job == "done"
        assert seen == [(1, 0), (2, 1)]
        assert [start.outcome for start in (await job.status()).log] == ["crashed", "succeeded"]
        assert shop.notes == ["cleaned up 2"]
        assert 15 <= (t.now - NOON).total_seconds() < 20
    assert shop.notes == ["cleaned up 2", "cleaned up 1"], "what was killed is tidied up after the test"


async def test_a_thread_of_a_killed_worker_is_never_heard_of(shop: Shop) -> None:
    gate = threading.Event()

    @shop.app.task
    def work(ctx: Context) -> int:
        if ctx.starts == 1:
            gate.wait(10)
        return ctx.starts

    async with noria.testing.run(shop.app, patience=0.05) as t:
        job = await work.enqueue()
        await t.started(job)
        await t.kill()
        assert await job == 2
        gate.set()
        await t.advance(60)
        assert await job == 2


async def test_a_job_that_is_delivered_twice_runs_in_two_workers_at_once(shop: Shop) -> None:
    running = 0
    most = 0

    @shop.app.task
    async def work(ctx: Context) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(5)
        running -= 1
        shop.notes.append(ctx.starts)
        return ctx.starts

    async with noria.testing.run(shop.app) as t:
        job = await work.enqueue()
        t.deliver_twice(job)
        await t.drain()
        assert most == 2
        assert sorted(shop.notes) == [1, 2]
        assert await job == 2
        assert await (await work.enqueue()) == 1, "afterwards all is well"


@pytest.mark.parametrize(("recorded", "runs"), [(False, [1, 2]), (True, [1])])
async def test_a_lost_outcome(shop: Shop, recorded: bool, runs: list[int]) -> None:
    @shop.app.task
    async def work(ctx: Context) -> int:
        shop.notes.append(ctx.starts)
        return ctx.starts

    async with noria.testing.run(shop.app) as t:
        job = await work.enqueue()
        t.lose_settle(job, recorded=recorded)
        assert await job == runs[-1]
        await t.drain()
        assert shop.notes == runs


async def test_the_lifespan_and_what_has_app_scope_are_each_workers_own(shop: Shop) -> None:
    @shop.app.lifespan
    async def resources() -> AsyncIterator[str]:
        shop.notes.append("opened")
        yield "state"
        shop.notes.append("closed")

    async with noria.testing.run(shop.app) as t:
        await t.kill()
        assert shop.notes == ["opened", "opened"]
    assert shop.notes == ["opened", "opened", "closed", "closed"]


# ---- wrong use, and failures


async def test_an_application_is_closed_before_and_after(shop: Shop) -> None:
    async with noria.testing.run(shop.app), shop.app:
        await shop.note.enqueue("nested is fine")
    with pytest.raises(Exception, match="not open"):
        await shop.note.enqueue("x")


async def test_an_open_application_is_refused(
    shop: Shop, short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(short_tmp)
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    async with shop.app:
        with pytest.raises(ConfigError, match="the application is open"):
            async with noria.testing.run(shop.app):
                pass


async def test_other_wrong_uses_are_told(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="not 5"):
        async with noria.testing.run(5):  # type: ignore[arg-type]  # the point of this test
            pass
    with pytest.raises(ConfigError, match="no tasks"):
        async with noria.testing.run(Noria()):
            pass
    with pytest.raises(ConfigError, match="time zone"):
        async with noria.testing.run(shop.app, now=datetime(2030, 1, 1)):  # noqa: DTZ001 - the point of this test
            pass
    with pytest.raises(ConfigError, match=r"await t\.drain"):
        async with noria.testing.run(shop.app, burst=True):
            pass
    with pytest.raises(InvalidOption, match="did you mean 'concurrency'"):
        async with noria.testing.run(shop.app, concurency=1):  # type: ignore[call-arg]  # the point of this test
            pass
    async with noria.testing.run(shop.app) as t:
        with pytest.raises(ConfigError, match="one at a time"):
            async with noria.testing.run(Shop().app):
                pass
        with pytest.raises(ConfigError, match="a worker runs already"):
            shop.app.worker()
        with pytest.raises(InvalidInput, match="seconds"):
            await t.advance(-1)
        with pytest.raises(InvalidInput):
            t.deliver_twice("no id")
        with pytest.raises(JobNotFound):
            await t.started("0190a0a0-0000-7000-8000-000000000000")
        job = await shop.note.enqueue("x")
        await job
        with pytest.raises(Stuck, match="does not run: it is succeeded"):
            await t.started(job)


def test_another_event_loop_is_refused(shop: Shop) -> None:
    async def use() -> None:
        with pytest.raises(ConfigError, match=r"not uvloop\.Loop"):
            async with noria.testing.run(shop.app):
                pass

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())


async def test_a_lifespan_that_fails_is_told(shop: Shop) -> None:
    @shop.app.lifespan
    async def broken() -> AsyncIterator[None]:
        raise OSError("no database")
        yield

    with pytest.raises(OSError, match="no database"):
        async with noria.testing.run(shop.app):
            pass


async def test_a_lifespan_that_fails_at_its_end_is_told(shop: Shop) -> None:
    @shop.app.lifespan
    async def leaky() -> AsyncIterator[None]:
        yield
        raise OSError("cannot close")

    with pytest.raises(OSError, match="cannot close"):
        async with noria.testing.run(shop.app) as t:
            assert await (await shop.note.enqueue("x")) == "x"
            await t.drain()
    with pytest.raises(OSError, match="cannot close") as caught:
        async with noria.testing.run(shop.app):
            raise ZeroDivisionError
    assert isinstance(caught.value.__context__, ZeroDivisionError)


async def test_a_thread_job_may_be_delivered_twice_too(shop: Shop) -> None:
    gate = threading.Barrier(2, timeout=10)

    @shop.app.task
    def work(ctx: Context) -> int:
        gate.wait()
        return ctx.starts

    async with noria.testing.run(shop.app, patience=30) as t:
        job = await work.enqueue()
        t.deliver_twice(job)
        await t.drain()
        assert await job == 2


async def test_a_job_that_never_ends_does_not_hold_up_the_test_for_ever(shop: Shop) -> None:
    @shop.app.task
    async def endless() -> None:
        await asyncio.Event().wait()

    async with noria.testing.run(shop.app) as t:
        await endless.enqueue()
        with pytest.raises(Stuck, match="still work"):
            await t.drain()


def test_a_wait_for_what_cannot_come_is_told(shop: Shop) -> None:
    async def wait() -> None:
        async with noria.testing.run(shop.app):
            await (await shop.note.options(queue="nobody-serves-it").enqueue("x"))

    with pytest.raises(Deadlock, match="a year of virtual time"):
        asyncio.run(wait())


async def test_the_body_of_the_test_may_fail(shop: Shop) -> None:
    with pytest.raises(ZeroDivisionError):
        async with noria.testing.run(shop.app):
            await shop.note.enqueue("x", seconds=50)
            raise ZeroDivisionError
    async with noria.testing.run(shop.app) as t:
        await shop.note.enqueue("again")
        await t.drain()
    assert shop.notes == ["again"]


async def test_routers_and_control_exceptions_work_as_usual() -> None:
    app, router = Noria(), Router(prefix="r.", queue="own")

    @router.task
    async def again(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise Retry(after=100)
        return ctx.attempt

    app.include(router)
    async with noria.testing.run(app) as t:
        assert isinstance(t, Trial)
        assert await (await again.enqueue()) == 3


async def test_what_nobody_can_enqueue_is_not_asked_for_in_vain() -> None:
    app = Noria("sqlite:///never-opened.db")

    @app.task
    async def use(x: int) -> None: ...

    async with noria.testing.run(app) as t:
        assert t.enqueued("use") == t.enqueued(use, x=3) == t.enqueued(x=3) == []
        with pytest.raises(UnknownTask, match="'nope'"):
            t.enqueued("nope")
        with pytest.raises(InvalidInput, match="task 'use' has no argument 'y'; there are x"):
            t.enqueued(use, y=3)
        with pytest.raises(InvalidInput, match="no task has an argument 'y'"):
            t.enqueued(y=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"now": "x"}, "now must be a datetime with a time zone.*'x'"),
        ({"now": datetime(2030, 1, 1)}, "now must be a datetime with a time zone"),  # noqa: DTZ001 - the point
        ({"patience": -1}, "patience must be 0 to 86400 real seconds, not -1"),
        ({"patience": "1"}, "patience must be"),
        ({"patience": float("nan")}, "patience must be"),
    ],
)
async def test_a_test_that_begins_at_no_time_is_refused(options: Any, words: str) -> None:
    app = Noria("sqlite:///never-opened.db")

    @app.task
    async def use() -> None: ...

    with pytest.raises(ConfigError, match=words):
        async with noria.testing.run(app, **options):
            pass
