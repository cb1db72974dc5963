"""What a running job writes down on its way: progress, checkpoints, partial results, and who reads them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

import noria.testing
from noria import Backoff, Context, InvalidInput, JobEvent, JobFailed, JobNotFound, Noria
from noria.model.limits import MAX_EMITTED
from noria.testing import Trial

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
Executor = Literal["async", "thread", "process"]


def app_of(executor: Executor, act: Any) -> tuple[Noria, Any]:
    """An application with a task that does this in that kind of slot; `act` gets the context and an argument."""
    app = Noria("sqlite:///never-opened.db")
    if executor == "async":

        @app.task(attempts=3, retry=Backoff(base=1, jitter="none"))
        async def run(ctx: Context, what: int = 0) -> Any:
            told = act(ctx, what)
            return await told if hasattr(told, "__await__") else told
    else:

        @app.task(attempts=3, retry=Backoff(base=1, jitter="none"), executor=executor)
        def run(ctx: Context, what: int = 0) -> Any:
            return act(ctx, what)

    return app, run


EVERYWHERE = pytest.mark.parametrize("executor", ["async", "thread", "process"])


@EVERYWHERE
async def test_progress_is_seen_in_the_status(executor: Executor) -> None:
    def act(ctx: Context, what: int) -> None:
        for n in range(4):
            ctx.progress(n / 4, f"step {n}")

    app, run = app_of(executor, act)
    async with noria.testing.run(app, now=NOON) as t:
        job = await run.enqueue()
        await job
        status = await job.status()

        assert status.progress is not None
        assert (status.progress.fraction, status.progress.note) == (0.75, "step 3")
        assert status.progress.at == t.now == NOON


@EVERYWHERE
async def test_the_next_attempt_begins_where_the_last_one_ended(executor: Executor) -> None:
    def act(ctx: Context, what: int) -> Any:
        page = ctx.restored or 0
        if executor == "async":
            return walk(ctx, page)
        ctx.checkpoint(page + 1)
        if page < 2:
            raise ValueError("not yet")
        return page

    async def walk(ctx: Context, page: int) -> int:
        await ctx.checkpoint(page + 1)
        if page < 2:
            raise ValueError("not yet")
        return page

    app, run = app_of(executor, act)
    async with noria.testing.run(app):
        assert await (await run.enqueue()) == 2


@EVERYWHERE
async def test_partial_results_are_all_there_before_the_job_has_ended(executor: Executor) -> None:
    def act(ctx: Context, what: int) -> Any:
        if executor == "async":
            return stream(ctx)
        for n in range(5):
            ctx.emit({"n": n})
        ctx.emit("last", "of all")
        return None

    async def stream(ctx: Context) -> None:
        for n in range(5):
            await ctx.emit({"n": n})
        ctx.emit("last", "of all")

    app, run = app_of(executor, act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        await job
        found = [event async for event in job.events()]

        assert [(each.offset, each.item) for each in found if each.kind == "item"] == [
            *((n, {"n": n}) for n in range(5)),
            (5, "last"),
            (6, "of all"),
        ]
        assert (await job.status()).items == 7
        assert found[-1].state == "succeeded"


async def test_who_follows_a_job_hears_of_it_as_it_goes_on() -> None:
    async def act(ctx: Context, what: int) -> None:
        for n in range(3):
            await asyncio.sleep(10)
            await ctx.progress(n / 4, f"step {n}")
            await ctx.emit(n)
        await asyncio.sleep(10)

    app, run = app_of("async", act)
    async with noria.testing.run(app) as t:
        job = await run.enqueue()
        began, seen = t.now, list[tuple[int, JobEvent]]()
        async for event in job.events():
            seen.append((round((t.now - began).total_seconds()), event))

    items = [(at, event.item) for at, event in seen if event.kind == "item"]
    assert items == [(10, 0), (20, 1), (30, 2)]
    notes = [event.note for _, event in seen if event.kind == "progress"]
    assert notes == ["step 0", "step 1", "step 2"]
    assert (seen[-1][0], seen[-1][1].kind, seen[-1][1].state) == (40, "state", "succeeded")


async def test_a_late_reader_gets_what_it_asks_for() -> None:
    async def act(ctx: Context, what: int) -> None:
        for n in range(10):
            await ctx.emit(n)

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        await job

        assert [each.item async for each in job.events(7) if each.kind == "item"] == [7, 8, 9]
        assert [each.item async for each in job.events(99) if each.kind == "item"] == []


async def test_what_was_dropped_is_a_gap() -> None:
    async def act(ctx: Context, what: int) -> None:
        await ctx.emit(*range(MAX_EMITTED + 5))

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        await job
        found = [event async for event in job.events() if event.kind != "state"]

        assert (found[0].kind, found[0].offset) == ("gap", 5)
        assert [each.offset for each in found[1:]] == list(range(5, MAX_EMITTED + 5))


async def test_a_later_attempt_goes_on_with_the_stream() -> None:
    async def act(ctx: Context, what: int) -> None:
        await ctx.emit(f"attempt {ctx.attempt}")
        if ctx.attempt < 3:
            raise ValueError("not yet")

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        await job
        found = [(each.offset, each.item) async for each in job.events() if each.kind == "item"]

        assert found == [(0, "attempt 1"), (1, "attempt 2"), (2, "attempt 3")]


async def test_progress_is_written_a_few_times_a_second_and_the_last_one_counts() -> None:
    async def act(ctx: Context, what: int) -> None:
        for n in range(1_000):
            ctx.progress(n / 1_000)
            await asyncio.sleep(0.01)

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        seen = [event async for event in job.events() if event.kind == "progress"]

    assert 10 <= len(seen) <= 30
    assert seen[-1].fraction == 0.999


async def test_a_worker_that_dies_leaves_its_checkpoint() -> None:
    async def act(ctx: Context, what: int) -> Any:
        if ctx.restored:
            return ctx.restored
        await ctx.checkpoint({"cookies": ["a"]})
        await asyncio.sleep(3_600)
        return None

    app, run = app_of("async", act)
    async with noria.testing.run(app) as t:
        job = await run.enqueue()
        await t.started(job)
        await t.kill()

        assert await job == {"cookies": ["a"]}


@EVERYWHERE
@pytest.mark.parametrize("call", ["progress", "nan", "checkpoint", "emit", "large"])
async def test_what_cannot_be_written_down_is_refused_in_the_handler(executor: Executor, call: str) -> None:
    calls: dict[str, Any] = {
        "progress": lambda ctx: ctx.progress(2),
        "nan": lambda ctx: ctx.progress(float("nan")),
        "checkpoint": lambda ctx: ctx.checkpoint(object()),
        "emit": lambda ctx: ctx.emit("fits", object()),
        "large": lambda ctx: ctx.emit("x" * 20_000),
    }

    def act(ctx: Context, what: int) -> str:
        with pytest.raises(InvalidInput):
            calls[call](ctx)
        return "refused"

    app, run = app_of(executor, act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        assert await job == "refused"
        assert (await job.status()).items == 0


async def test_a_note_of_any_text_is_cut_to_what_can_be_stored() -> None:
    async def act(ctx: Context, what: int) -> None:
        ctx.progress(0.5, "\x00\udc80" + "ä" * 600)

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        await job
        status = await job.status()

        assert status.progress is not None
        assert status.progress.note.startswith("\\x00\\udc80ä")
        assert len(status.progress.note) == 500


async def test_a_job_that_fails_has_sent_what_it_sent() -> None:
    async def act(ctx: Context, what: int) -> None:
        ctx.emit("sent")
        ctx.progress(0.5)
        raise ValueError("broken")

    app, run = app_of("async", act)
    async with noria.testing.run(app):
        job = await run.enqueue()
        with pytest.raises(JobFailed):
            await job
        status = await job.status()

        assert status.items == 3  # one for each attempt
        assert status.progress is not None


async def test_nobody_can_follow_what_is_not_there() -> None:
    app, _ = app_of("async", lambda ctx, what: None)
    async with noria.testing.run(app):
        with pytest.raises(JobNotFound):
            async for _ in app.job("01890000-0000-7000-8000-000000000000").events():
                raise AssertionError("there is nothing to tell")


async def test_several_can_follow_one_job() -> None:
    async def act(ctx: Context, what: int) -> None:
        for n in range(3):
            await asyncio.sleep(1)
            await ctx.emit(n)

    async def items(t: Trial, job: Any) -> list[Any]:
        return [event.item async for event in job.events() if event.kind == "item"]

    app, run = app_of("async", act)
    async with noria.testing.run(app) as t:
        job = await run.enqueue()
        assert await asyncio.gather(*(items(t, job) for _ in range(3))) == [[0, 1, 2]] * 3
