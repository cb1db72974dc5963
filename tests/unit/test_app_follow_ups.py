"""`ctx.enqueue`: follow-ups as handlers ask for them, in coroutines, threads and processes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import noria.testing
from noria import (
    Backoff,
    Context,
    InvalidArguments,
    InvalidInput,
    InvalidOption,
    Noria,
    NotRunning,
    NotYetEnqueued,
    Pending,
    TooLarge,
    Unique,
)
from noria.app.options import TaskOptions
from noria.model.limits import MAX_FOLLOW_UP_BYTES, MAX_FOLLOW_UPS
from noria.testing import Trial

KINDS = ("async", "thread", "process")


class Shop:
    """An application whose `order` asks for follow-ups."""

    def __init__(self, executor: str = "async") -> None:
        self.app = Noria("sqlite:///never-opened.db")
        self.packed: list[int] = []
        self.kept: list[Any] = []
        self.failures = 0
        options: TaskOptions = {"attempts": 3, "retry": Backoff(base=60, jitter="none")}

        @self.app.task
        async def pack(n: int) -> int:
            self.packed.append(n)
            return n

        def act(ctx: Context, n: int) -> str:
            for each in range(n):
                self.kept.append(ctx.enqueue(pack, each))
            if self.failures:
                self.failures -= 1
                raise ValueError("not yet")
            return ctx.job_id

        if executor == "async":

            @self.app.task(**options)
            async def order(ctx: Context, n: int) -> str:
                return act(ctx, n)

            self.order = order
        else:

            @self.app.task(name="order", executor="thread" if executor == "thread" else "process", **options)
            def blocking(ctx: Context, n: int) -> str:
                return act(ctx, n)

            self.order = blocking
        self.pack = pack


def tasks(t: Trial) -> list[str]:
    return [each.task for each in t.enqueued()]


@pytest.mark.parametrize("executor", KINDS)
async def test_follow_ups_run_when_the_job_has_succeeded(executor: str) -> None:
    shop = Shop(executor)
    async with noria.testing.run(shop.app) as t:
        job = await shop.order.enqueue(3)
        await job
        await t.drain()

    assert sorted(shop.packed) == [0, 1, 2]
    assert tasks(t) == ["order", "pack", "pack", "pack"]


@pytest.mark.parametrize("executor", KINDS)
async def test_a_job_that_is_tried_again_never_doubles_them(executor: str) -> None:
    shop = Shop(executor)
    shop.failures = 2
    async with noria.testing.run(shop.app) as t:
        await (await shop.order.enqueue(2))
        await t.drain()

    assert sorted(shop.packed) == [0, 1]
    assert len(shop.kept) == 6


@pytest.mark.parametrize("executor", KINDS)
async def test_a_job_that_fails_leaves_none(executor: str) -> None:
    shop = Shop(executor)
    shop.failures = 3
    async with noria.testing.run(shop.app) as t:
        job = await shop.order.enqueue(2)
        await t.advance(3600)
        assert (await job.status()).state == "failed"

    assert shop.packed == []
    assert tasks(t) == ["order"]


async def test_a_worker_that_dies_leaves_none_and_its_successor_its_own() -> None:
    shop = Shop()
    reached = []

    @shop.app.task
    async def dies(ctx: Context) -> None:
        ctx.enqueue(shop.pack, len(reached))
        reached.append(ctx.starts)
        if len(reached) == 1:
            await t.kill()

    async with noria.testing.run(shop.app) as t:
        await dies.enqueue()
        await t.advance(60)
        await t.drain()

    assert reached == [1, 2]
    assert shop.packed == [1]


async def test_a_pending_cannot_be_awaited_and_says_why() -> None:
    shop = Shop()
    said: list[NotYetEnqueued] = []

    @shop.app.task
    async def waits(ctx: Context) -> str:
        pending = ctx.enqueue(shop.pack, 1)
        try:
            await pending
        except NotYetEnqueued as error:
            said.append(error)
        return pending.id

    async with noria.testing.run(shop.app) as t:
        id = await (await waits.enqueue())
        await t.drain()
        assert (await shop.app.job(id).status()).state == "succeeded"

    assert "'pack'" in str(said[0]) and "task.enqueue" in str(said[0])


async def test_a_child_knows_its_parent_and_has_its_deadline_at_most() -> None:
    shop = Shop()

    @shop.app.task
    async def parent(ctx: Context) -> list[str]:
        later = shop.pack.options(deadline=7200)
        return [ctx.enqueue(shop.pack, 1).id, ctx.enqueue(later, 2).id]

    async with noria.testing.run(shop.app) as t:
        job = await parent.options(deadline=3600).enqueue()
        first, second = [await shop.app.job(id).status() for id in await job]
        ends = (await job.status()).deadline_at
        await t.drain()

    assert first.parent_id == second.parent_id == job.id
    assert first.deadline_at == second.deadline_at == ends


async def test_a_grandchild_knows_the_root_of_the_tree() -> None:
    shop = Shop()

    @shop.app.task
    async def deep(ctx: Context, left: int) -> str:
        return ctx.enqueue(deep, left - 1).id if left else ctx.parent_id

    async with noria.testing.run(shop.app) as t:
        root = await deep.enqueue(2)
        child = await shop.app.job(await root).result()
        grandchild = await shop.app.job(child).result()
        await t.drain()

    assert grandchild == (await _parent(shop, t, child))


async def _parent(shop: Shop, t: Trial, child: str) -> str:
    [second] = [each for each in t.enqueued() if each.job_id == child]
    assert second.task == "deep"
    return t.enqueued()[1].job_id


async def test_options_of_a_follow_up_count() -> None:
    shop = Shop()

    @shop.app.task
    async def parent(ctx: Context) -> None:
        ctx.enqueue(shop.pack.options(delay=60, unique="one", priority=4), 1)
        ctx.enqueue(shop.pack.options(delay=60, unique="one"), 2)

    async with noria.testing.run(shop.app) as t:
        job = await parent.enqueue()
        await job
        status = await job.status()
        await t.advance(120)

    first, second = t.enqueued()[1:]
    assert shop.packed == [1]
    assert (first.priority, first.delay, first.created, second.created) == (4, 60.0, True, False)
    assert status.linked == (first.job_id,)


async def test_arguments_are_checked_when_they_are_given() -> None:
    shop = Shop()

    @shop.app.task(attempts=1)
    async def wrong(ctx: Context) -> str:
        with pytest.raises(InvalidArguments):
            ctx.enqueue(shop.pack, "one")  # type: ignore[arg-type]  # what is tested
        return "checked"

    async with noria.testing.run(shop.app):
        assert await (await wrong.enqueue()) == "checked"


async def test_task_enqueue_inside_a_job_is_immediate() -> None:
    shop = Shop()

    @shop.app.task(attempts=1)
    async def both(ctx: Context) -> None:
        ctx.enqueue(shop.pack, 1)
        await shop.pack.enqueue(2)
        raise ValueError("it fails all the same")

    async with noria.testing.run(shop.app) as t:
        await both.enqueue()
        await t.drain()

    assert shop.packed == [2]


async def test_there_is_a_limit_on_their_number() -> None:
    shop = Shop()

    @shop.app.task
    async def many(ctx: Context) -> str:
        for n in range(MAX_FOLLOW_UPS):
            ctx.enqueue(shop.pack, n)
        with pytest.raises(InvalidInput, match="1,000 follow-ups"):
            ctx.enqueue(shop.pack, -1)
        return "limited"

    async with noria.testing.run(shop.app) as t:
        assert await (await many.enqueue()) == "limited"
        await t.drain()

    assert len(shop.packed) == MAX_FOLLOW_UPS


async def test_there_is_a_limit_on_their_bytes() -> None:
    shop = Shop()

    @shop.app.task
    async def keep(text: str) -> None: ...

    @shop.app.task
    async def large(ctx: Context) -> str:
        for _ in range(MAX_FOLLOW_UP_BYTES // 600_000):
            ctx.enqueue(keep, "x" * 600_000)
        with pytest.raises(TooLarge, match="follow-ups"):
            ctx.enqueue(keep, "x" * 600_000)
        return "limited"

    async with noria.testing.run(shop.app):
        assert await (await large.enqueue()) == "limited"


async def test_a_follow_up_changes_no_other_job() -> None:
    shop = Shop()

    @shop.app.task
    async def greedy(ctx: Context) -> str:
        with pytest.raises(InvalidOption, match="cannot replace"):
            ctx.enqueue(shop.pack.options(unique=Unique("k", on_conflict="replace")), 1)
        ctx.enqueue(shop.pack.options(unique=Unique("k", while_="queued")), 2)
        return "refused"

    async with noria.testing.run(shop.app) as t:
        assert await (await greedy.enqueue()) == "refused"
        await t.drain()

    assert shop.packed == [2]


async def test_after_its_end_a_handler_is_told_that_it_is_too_late() -> None:
    shop = Shop()
    contexts: list[Context] = []

    @shop.app.task
    async def leaks(ctx: Context) -> None:
        contexts.append(ctx)

    async with noria.testing.run(shop.app):
        await (await leaks.enqueue())
        with pytest.raises(NotRunning, match="has ended"):
            contexts[0].enqueue(shop.pack, 1)


async def test_threads_of_a_handler_may_ask_at_once() -> None:
    shop = Shop()

    @shop.app.task
    def many(ctx: Context) -> None:
        threads = [
            threading.Thread(target=lambda: [ctx.enqueue(shop.pack, 1) for _ in range(100)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    async with noria.testing.run(shop.app) as t:
        await (await many.enqueue())
        await t.drain()

    assert len(shop.packed) == 400


def test_a_pending_is_shown_with_its_task() -> None:
    assert repr(Pending("019e7a5c", "pack")) == "<Pending pack 019e7a5c>"


async def test_what_is_no_task_is_refused_by_what_it_is() -> None:
    app = Noria("sqlite:///never-opened.db")

    @app.task
    async def pack(n: int) -> int:
        return n

    async def bare(n: int) -> int:
        return n

    @app.task
    async def order(ctx: Context) -> int:
        given: list[Any] = ["pack", bare, pack.job(1), None]
        for each in given:
            with pytest.raises(InvalidInput, match="is no task: ") as refused:
                ctx.enqueue(each, 1)
            assert refused.value.field == "task"
        return len(given)

    async with noria.testing.run(app) as trial:
        job = await order.enqueue()
        await trial.drain()
        assert await job == 4
