"""Middleware: layers around every job, which see its result or its failure, and may decide otherwise."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from noria import (
    CallNext,
    Cancel,
    ConfigError,
    Context,
    Depends,
    Fail,
    InvalidOption,
    JobCancelled,
    JobFailed,
    Noria,
    Outgoing,
    Retry,
    Snooze,
)
from tests.support.workplace import HeldThreads, Workplace, in_virtual_time


class Layer:
    """Notes what passes through it."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name = name
        self.notes = notes

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        self.notes.append(f"{self.name} begins {ctx.task} {ctx.attempt}")
        try:
            value = await call_next()
        except Exception as error:
            self.notes.append(f"{self.name} saw {type(error).__name__}")
            raise
        self.notes.append(f"{self.name} saw {value}")
        return value


@in_virtual_time
async def test_the_first_is_the_outermost_and_each_sees_the_result() -> None:
    async with Workplace() as place:
        notes: list[str] = []
        place.app.middleware(Layer("outer", notes))

        @place.app.middleware
        async def doubling(ctx: Context, call_next: CallNext) -> Any:
            return 2 * await call_next()

        place.app.middleware(Layer("inner", notes))

        @place.app.task
        async def work(context: int) -> int:
            return context

        await place.hire()
        assert await (await work.enqueue(context=21)) == 42
        assert notes == ["outer begins work 1", "inner begins work 1", "inner saw 21", "outer saw 42"]


class Methods:
    async def layer(self, ctx: Context, call_next: CallNext) -> Any:
        return await call_next()


async def with_more(more: int, ctx: Context, call_next: CallNext) -> Any:
    return await call_next()


@pytest.mark.parametrize(
    "layer", [Methods().layer, functools.partial(with_more, 1)], ids=["a method", "a partial"]
)
def test_other_coroutine_functions_are_middleware_too(layer: Any) -> None:
    assert Noria().middleware(layer) is layer


def test_middleware_may_be_given_with_the_application() -> None:
    notes: list[str] = []
    app = Noria(middleware=[Layer("a", notes)])

    @app.task
    async def work() -> None: ...

    assert app.surroundings().tasks["work"] is not app.tasks["work"]


@in_virtual_time
async def test_dependencies_are_made_inside_of_it() -> None:
    async with Workplace() as place:
        notes: list[str] = []
        place.app.middleware(Layer("layer", notes))

        async def provider() -> AsyncIterator[int]:
            notes.append("made")
            yield 1
            notes.append("undone")

        @place.app.task
        async def work(n: Annotated[int, Depends(provider)]) -> int:
            return n

        await place.hire()
        await (await work.enqueue())
        assert notes == ["layer begins work 1", "made", "undone", "layer saw 1"]


@in_virtual_time
async def test_it_may_leave_the_job_out_or_run_it_again() -> None:
    async with Workplace() as place:
        runs: list[int] = []

        @place.app.middleware
        async def stubborn(ctx: Context, call_next: CallNext) -> Any:
            if "skip" in ctx.tags:
                return "left out"
            try:
                return await call_next()
            except OSError:
                return await call_next()

        @place.app.task
        async def work() -> str:
            runs.append(1)
            if len(runs) == 1:
                raise OSError
            return "done"

        await place.hire()
        assert await (await work.options(tags=["skip"]).enqueue()) == "left out"
        assert runs == []
        assert await (await work.enqueue()) == "done"
        assert runs == [1, 1]


@in_virtual_time
async def test_it_may_swallow_a_failure() -> None:
    async with Workplace() as place:

        @place.app.middleware
        async def swallowing(ctx: Context, call_next: CallNext) -> Any:
            try:
                return await call_next()
            except ValueError:
                return None

        @place.app.task
        async def work() -> int | None:
            raise ValueError

        await place.hire()
        job = await work.enqueue()
        assert await job is None
        assert (await job.status()).state == "succeeded"


@in_virtual_time
async def test_control_exceptions_mean_what_they_mean_in_a_job() -> None:
    async with Workplace() as place:

        @place.app.middleware
        async def steering(ctx: Context, call_next: CallNext) -> Any:
            if ctx.starts == 1:
                match ctx.tags:
                    case ("retry",):
                        raise Retry("again", after=5)
                    case ("snooze",):
                        raise Snooze(7)
                    case ("cancel",):
                        raise Cancel("not wanted")
                    case ("fail",):
                        raise Fail("hopeless")
            return await call_next()

        @place.app.task
        async def work(ctx: Context) -> tuple[int, int]:
            return ctx.starts, ctx.attempt

        @place.app.task
        def work_in_a_thread(ctx: Context) -> tuple[int, int]:
            return ctx.starts, ctx.attempt

        await place.hire()
        for task in (work, work_in_a_thread):
            assert await (await task.options(tags=["retry"]).enqueue()) == (2, 2)
            assert await (await task.options(tags=["snooze"]).enqueue()) == (2, 1)
            with pytest.raises(JobCancelled, match="not wanted"):
                await (await task.options(tags=["cancel"]).enqueue())
            failed = await task.options(tags=["fail"]).enqueue()
            with pytest.raises(JobFailed, match="hopeless"):
                await failed
            assert (await failed.status()).attempt == 1


class Odd(BaseException): ...


@pytest.mark.parametrize(
    "error", [RuntimeError("broken"), Odd("odd"), SystemExit(3), asyncio.CancelledError()]
)
def test_a_broken_one_fails_jobs_and_never_the_worker(error: BaseException) -> None:
    @in_virtual_time
    async def test() -> None:
        async with Workplace() as place:

            @place.app.middleware
            async def breaking(ctx: Context, call_next: CallNext) -> Any:
                await call_next()
                if "break" in ctx.tags:
                    raise error

            @place.app.task(attempts=1)
            async def work() -> None: ...

            @place.app.task(attempts=1)
            def work_in_a_thread() -> None: ...

            worker = await place.hire()
            for task in (work, work_in_a_thread):
                with pytest.raises(JobFailed, match=type(error).__name__):
                    await (await task.options(tags=["break"]).enqueue())
                assert await (await task.enqueue()) is None
            assert dict(worker._runner.free) == {"async": 10, "thread": 2}

    test()


@in_virtual_time
async def test_a_result_that_cannot_be_stored_fails_the_job() -> None:
    async with Workplace() as place:

        @place.app.middleware
        async def odd(ctx: Context, call_next: CallNext) -> Any:
            await call_next()
            return object()

        @place.app.task
        async def work() -> None: ...

        @place.app.task
        def work_in_a_thread() -> None: ...

        await place.hire()
        for task in (work, work_in_a_thread):
            job = await task.enqueue()
            with pytest.raises(JobFailed, match="object"):
                await job
            error = (await job.status()).error
            assert error is not None
            assert error.reason == "result"


# ---- around jobs in threads


REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


async def test_around_a_thread_it_runs_on_the_loop_and_its_context_reaches_the_thread(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")
    seen: list[bool] = []

    @app.middleware
    async def tracing(ctx: Context, call_next: CallNext) -> Any:
        seen.append(threading.current_thread() is threading.main_thread())
        REQUEST.set(ctx.correlation_id)
        return await call_next()

    @app.task
    def work() -> str:
        seen.append(threading.current_thread() is threading.main_thread())
        return REQUEST.get()

    async with app:
        jobs = [await work.options(correlation_id=name).enqueue() for name in ("a", "b")]
        await app.worker(burst=True, concurrency=1, threads=1).run()
        assert [await job for job in jobs] == ["a", "b"]
    assert seen == [True, False] * 2
    assert REQUEST.get() == "none"


@in_virtual_time
async def test_a_thread_past_its_limit_is_settled_at_once_and_cleaned_up_when_it_has_ended() -> None:
    async with Workplace() as place:
        notes: list[str] = []
        pool = HeldThreads()
        place.app.middleware(Layer("layer", notes))

        async def provider() -> AsyncIterator[int]:
            yield 1
            notes.append("undone")

        @place.app.task(timeout=1, attempts=1)
        def work(ctx: Context, n: Annotated[int, Depends(provider)]) -> bool:
            notes.append("ended")
            return ctx.stopping

        worker = await place.hire(pool=pool)
        with pytest.raises(JobFailed, match="longer than its time limit"):
            await (await work.enqueue())
        assert notes == ["layer begins work 1"]
        assert dict(worker._runner.free) == {"async": 10, "thread": 1}

        pool.end()
        await place.pass_by(0.01)
        assert notes[1:] == ["ended", "undone", "layer saw True"]
        assert dict(worker._runner.free) == {"async": 10, "thread": 2}


@in_virtual_time
async def test_a_job_that_is_cancelled_before_its_thread_begins_never_enters_it() -> None:
    async with Workplace() as place:
        pool = HeldThreads()

        async def slow() -> int:
            await asyncio.sleep(100)
            return 1

        @place.app.task(attempts=1)
        def work(n: Annotated[int, Depends(slow)]) -> None: ...

        worker = await place.hire(pool=pool)
        job = await work.enqueue()
        await place.pass_by(1)
        await job.cancel()
        with pytest.raises(JobCancelled):
            await job
        assert pool.held == []
        assert dict(worker._runner.free) == {"async": 10, "thread": 2}


@in_virtual_time
async def test_a_limit_of_its_own_around_a_thread_waits_for_the_thread_to_end() -> None:
    async with Workplace() as place:
        notes: list[str] = []
        pool = HeldThreads()

        @place.app.middleware
        async def limited(ctx: Context, call_next: CallNext) -> Any:
            try:
                async with asyncio.timeout(1):
                    return await call_next()
            except TimeoutError:
                notes.append("over")
                return "too late"

        @place.app.task
        def work(ctx: Context) -> str:
            notes.append(f"stopping {ctx.stopping}")
            return "done"

        await place.hire(pool=pool)
        job = await work.enqueue()
        await place.pass_by(5)
        assert notes == []
        pool.end()
        assert await job == "too late"
        assert notes == ["stopping True", "over"]


def test_a_thread_that_never_ends_keeps_no_process_from_ending(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")
    begun, gate, notes = threading.Event(), threading.Event(), list[str]()
    app.middleware(Layer("layer", notes))

    @app.task
    def work() -> None:
        begun.set()
        gate.wait(60)

    async def main() -> None:
        async with app:
            await work.enqueue()
            worker = app.worker(concurrency=1, threads=1, grace=0)
            running = asyncio.ensure_future(worker.run())
            await asyncio.to_thread(begun.wait)
            worker.drain(now=True)
            await running

    # As a process ends: whatever is left on the loop is cancelled, and waited for.
    asyncio.run(main())
    gate.set()


# ---- what is enqueued


class Stamping:
    """Gives each job the id of the request that enqueued it."""

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        REQUEST.set(ctx.correlation_id)
        return await call_next()

    def on_enqueue(self, job: Outgoing) -> None:
        job.correlation_id = job.correlation_id or REQUEST.get()
        job.tags = (*job.tags, f"from-{job.queue}")


@in_virtual_time
async def test_it_may_stamp_what_is_enqueued_also_by_jobs() -> None:
    async with Workplace() as place:
        place.app.middleware(Stamping())

        @place.app.task
        async def inner(ctx: Context) -> tuple[str, tuple[str, ...]]:
            return ctx.correlation_id, ctx.tags

        @place.app.task
        async def outer() -> tuple[str, tuple[str, ...]]:
            return await (await inner.options(tags=["own"]).enqueue())

        await place.hire()
        job = await outer.options(correlation_id="request 5").enqueue()
        assert await job == ("request 5", ("own", "from-default"))
        [other] = await place.app.enqueue_many([inner.job()])
        assert await other == ("none", ("from-default",))


def test_a_stamp_that_no_job_can_carry_is_refused() -> None:
    class Bad(Stamping):
        def on_enqueue(self, job: Outgoing) -> None:
            job.tags = "one"  # type: ignore[assignment]  # the point of this test

    app = Noria(middleware=[Bad()])

    @app.task
    async def work() -> None: ...

    with pytest.raises(InvalidOption, match="tags"):
        work.job()


# ---- what is refused


class NotAsync:
    def __call__(self, ctx: Context, call_next: CallNext) -> None: ...


async def takes_one(ctx: Context) -> None: ...


@pytest.mark.parametrize(
    "layer",
    [5, Layer, NotAsync(), takes_one, object()],
    ids=["a number", "a class", "no coroutine", "one parameter", "not callable"],
)
def test_what_is_no_middleware_is_refused(layer: Any) -> None:
    with pytest.raises(ConfigError, match="middleware"):
        Noria(middleware=[layer])
    with pytest.raises(ConfigError, match="middleware"):
        Noria().middleware(layer)
