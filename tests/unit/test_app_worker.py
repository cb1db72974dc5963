"""An application with its worker: jobs enqueued on one side come back as values on the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from noria import ConfigError, Context, InvalidOption, Job, JobFailed, Noria, Worker
from noria.backends.sqlite import SqliteBackend
from noria.clock import SystemClock
from noria.ids import IdSource
from noria.worker import Exit


@pytest.fixture
def app(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Noria:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    return Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")


@asynccontextmanager
async def working(app: Noria) -> AsyncIterator[Worker]:
    """The application, open, with a worker that runs."""
    async with app:
        worker = app.worker(concurrency=10, threads=2, name="w")
        running = asyncio.ensure_future(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            await running


async def test_values_come_back_from_coroutines_and_threads(app: Noria) -> None:
    events: list[str] = []

    @app.lifespan
    async def resources() -> AsyncIterator[dict[str, str]]:
        events.append("opened")
        yield {"greeting": "hello"}
        events.append("closed")

    @app.task
    async def greet(ctx: Context, name: str, *, mark: str = "!") -> str:
        return f"{ctx.state['greeting']} {name}{mark}"

    @app.task
    def square(n: int) -> int:
        return n * n

    @app.task
    def fail() -> None:
        raise KeyError("gone")

    async with working(app):
        jobs = await app.enqueue_many(square.job(n) for n in range(20))
        assert await (await greet.enqueue("you", mark="?")) == "hello you?"
        assert await asyncio.gather(*jobs) == [n * n for n in range(20)]
        with pytest.raises(JobFailed, match="KeyError: 'gone'"):
            await (await fail.options(attempts=1).enqueue())
        assert await asyncio.to_thread(lambda: app.sync.result(app.sync.enqueue(square, 9), 10)) == 81
    assert events == ["opened", "closed"]


async def test_a_job_may_enqueue_and_await_another(app: Noria) -> None:
    @app.task
    async def inner(n: int) -> int:
        return n + 1

    @app.task
    async def outer(n: int) -> int:
        return await (await inner.enqueue(n)) * 10

    @app.task
    def outer_in_a_thread(n: int) -> int:
        return app.sync.result(app.sync.enqueue(inner, n)) * 100

    async with working(app):
        assert await (await outer.enqueue(1)) == 20
        assert await (await outer_in_a_thread.enqueue(1)) == 200


async def test_settings_of_a_worker_are_checked(app: Noria) -> None:
    @app.task
    def work() -> None: ...

    async with app:
        with pytest.raises(InvalidOption, match="did you mean 'concurrency'"):
            app.worker(concurency=5)
        with pytest.raises(InvalidOption, match="concurrency"):
            app.worker(concurrency=0)


async def test_a_worker_needs_tasks_and_with_a_given_backend_a_folder(app: Noria, short_tmp: Path) -> None:
    async with app:
        with pytest.raises(ConfigError, match="no tasks"):
            app.worker()
    clock = SystemClock()
    backend = SqliteBackend(short_tmp / "x.db", runtime=short_tmp, clock=clock, ids=IdSource(clock))
    async with Noria(backend=backend) as other:
        with pytest.raises(ConfigError, match="runtime"):
            other.worker()


def test_a_lifespan_is_an_async_context_manager_or_becomes_one() -> None:
    @asynccontextmanager
    async def ready() -> AsyncIterator[int]:
        yield 1

    assert Noria().lifespan(ready) is ready


async def coroutine() -> None: ...
def generator() -> Iterator[int]:
    yield 1


@contextmanager
def blocking(n: int) -> Iterator[int]:
    yield n


@pytest.mark.parametrize("function", [coroutine, generator, blocking, 5, lambda x: x])
def test_other_lifespans_are_refused(function: Any) -> None:
    with pytest.raises(ConfigError, match="lifespan"):
        Noria().lifespan(function)


def test_there_is_one_lifespan() -> None:
    app = Noria()

    @app.lifespan
    async def first() -> AsyncIterator[None]:
        yield

    with pytest.raises(ConfigError, match="one lifespan"):
        app.lifespan(first)


@pytest.mark.parametrize("fails", [False, True])
async def test_leaving_the_application_ends_the_worker_that_still_runs(
    app: Noria, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    begun = asyncio.Event()

    @app.task(attempts=1)
    async def slow() -> int:
        begun.set()
        await asyncio.sleep(0.3 if not fails else 600)
        return 5

    async def main() -> None:
        async with app:
            started.append(asyncio.ensure_future(app.worker(name="w").run()))
            jobs.append(await slow.enqueue())
            await begun.wait()
            if fails:
                raise ZeroDivisionError("of the program")

    started: list[asyncio.Future[Exit]] = []
    jobs: list[Job[int]] = []
    if fails:
        with pytest.raises(ZeroDivisionError, match="of the program"):
            await asyncio.wait_for(main(), 15)
    else:
        await asyncio.wait_for(main(), 15)
    assert started[0].result() is (Exit.CUT if fails else Exit.CLEAN)
    [told] = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert told.startswith("the application is left while its worker runs: it ")
    async with app:
        status = await jobs[0].status()
        assert (status.state, status.crashes) == ("queued" if fails else "succeeded", 0)
        assert (await app.backend.counts()).workers == []


async def test_a_worker_that_has_not_begun_when_the_application_is_left_never_does(app: Noria) -> None:
    @app.task
    async def work() -> None: ...

    async with app:
        running = asyncio.ensure_future(app.worker().run())
    assert await running is Exit.CLEAN


async def test_who_is_tired_of_waiting_for_the_drain_cancels_it(app: Noria) -> None:
    begun = asyncio.Event()

    @app.task
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(600)

    async def main() -> None:
        async with app:
            started.append(asyncio.ensure_future(app.worker(name="w").run()))
            await slow.enqueue()
            await begun.wait()

    started: list[asyncio.Future[Exit]] = []
    running = asyncio.ensure_future(main())
    await begun.wait()
    await asyncio.wait([running], timeout=0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 15)
    assert started[0].result() is Exit.CUT
