"""`@app.every`, `@app.cron` and `app.schedules`, with the real worker and store in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import noria.testing
from noria import (
    Context,
    InvalidArguments,
    InvalidInput,
    InvalidName,
    InvalidOption,
    Noria,
    Router,
    ScheduleNotFound,
    TaskDefinitionError,
    UnknownTask,
    WrongState,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


def make(**options: Any) -> Noria:
    """An application with one timer, every ten seconds."""
    app = Noria()

    @app.every("10s", **options)
    @app.task
    async def tick(ctx: Context, n: int = 1) -> str:
        return f"{ctx.schedule} {ctx.slot}"

    return app


# -- declaring


def test_a_timed_task_is_called_and_enqueued_like_any_other() -> None:
    app = Noria()

    @app.cron("0 3 * * *")
    @app.every("10s", name="often")
    @app.task
    async def tick() -> str:
        return "tock"

    assert tick.name == "tick"
    assert set(app.declared_schedules()) == {"tick", "often"}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"overlap": "allow"}, "overlap"),
        ({"catch_up": "all"}, "catch_up"),
        ({"catch_up": "all", "overlap": "queue_all"}, "window"),
        ({"window": 60.0}, "window"),
        ({"jitter": -1}, "jitter"),
        ({"args": "text"}, "args"),
        ({"delay": 5}, "delay"),
        ({"after": "01a22c52-24f3-77d5-802a-6309c183da88"}, "after"),
        ({"on": "done"}, "on"),
        ({"unique": "key"}, "unique"),
        ({"expires": datetime.now}, "expires"),
        ({"overlapp": "skip"}, "overlapp"),
        ({"priority": 99}, "priority"),
    ],
)
def test_a_wrong_option_is_refused_where_it_stands(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make(**options)
    assert refused.value.field == field


def test_arguments_that_do_not_fit_are_refused_where_they_stand() -> None:
    with pytest.raises(InvalidArguments):
        make(args={"m": 1})


def test_a_name_that_no_backend_accepts_is_refused() -> None:
    with pytest.raises(InvalidName):
        make(name="a b")


def test_too_large_arguments_are_refused() -> None:
    app = Noria()

    @app.task
    async def take(text: str) -> None: ...

    with pytest.raises(InvalidOption, match="16,384 bytes"):
        app.every(1, args=["x" * 20_000])(take)


def test_two_timers_of_one_name_are_refused() -> None:
    app = make()
    with pytest.raises(TaskDefinitionError, match="declared twice"):
        app.every("1s")(app.find_task("tick"))


def test_a_timer_over_no_task_is_refused() -> None:
    def plain() -> None: ...

    put: Callable[[Any], Any] = Noria().every("1s")
    with pytest.raises(TaskDefinitionError, match=r"put @app\.task under"):
        put(plain)


def test_a_task_of_a_router_gets_its_timer_once_it_is_included() -> None:
    app, router = Noria(), Router(prefix="shop.")

    @router.task
    async def tick() -> None: ...

    with pytest.raises(TaskDefinitionError, match="include its router"):
        app.every("1s")(tick)
    app.include(router)
    app.every("1s")(tick)
    assert app.declared_schedules()["shop.tick"].template.task == "shop.tick"


# -- running


async def test_each_slot_runs_once_with_its_time() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(35)
        jobs = t.enqueued("tick")
        status = await app.schedules.get("tick")

    assert [each.due for each in jobs] == [AT + timedelta(seconds=10 * n) for n in (1, 2, 3)]
    assert (status.ran, status.skipped, status.missed) == (3, 0, 0)
    assert status.next[0] == AT + timedelta(seconds=40)


async def test_a_job_knows_its_timer_and_slot() -> None:
    app = make(name="often")
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(10)
        [made] = t.enqueued("tick")
        job = app.job(made.job_id)

        assert await job == f"often {AT + timedelta(seconds=10)}"
        assert ((await job.status()).schedule, (await job.status()).slot) == (
            "often",
            AT + timedelta(seconds=10),
        )


async def test_options_reach_the_jobs() -> None:
    app = make(
        args={"n": 7}, priority=3, tags=["a"], correlation_id="c", expires=60.0, deadline=90.0, queue="q"
    )
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(10)
        [made] = t.enqueued("tick")
        status = await app.job(made.job_id).status()

    assert (made.arguments, made.priority, made.tags, made.queue) == ({"n": 7}, 3, ("a",), "q")
    assert (status.expires_at, status.deadline_at) == (
        AT + timedelta(seconds=70),
        AT + timedelta(seconds=100),
    )


async def test_jitter_starts_a_job_later_by_less_than_that() -> None:
    app = make(jitter=5.0)
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(45)
        late = [each.due - (AT + timedelta(seconds=10 * n)) for n, each in enumerate(t.enqueued("tick"), 1)]

    assert all(timedelta(0) <= each < timedelta(seconds=5) for each in late)
    assert len(set(late)) > 1


async def test_a_queued_slot_runs_as_soon_as_the_last_job_has_ended() -> None:
    app = Noria()
    began: list[datetime] = []

    @app.every("10s", overlap="queue_all")
    @app.task
    async def slow(ctx: Context) -> None:
        began.append(t.now)
        await asyncio.sleep(25)

    async with noria.testing.run(app, now=AT) as t:
        await t.advance(70)

    assert [(each - AT).total_seconds() for each in began] == pytest.approx([10, 35, 60], abs=0.1)


# -- as persons see and change them


async def test_a_paused_timer_runs_no_slot_and_counts_them() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(5)
        paused = await app.schedules.pause("tick", "closed")
        await t.advance(30)
        resumed = await app.schedules.resume("tick")
        await t.advance(10)
        status = await app.schedules.get("tick")

    assert (paused.paused, paused.next) == ("closed", [])
    assert (resumed.paused, resumed.skipped, resumed.log[0].what, resumed.log[0].count) == (
        None,
        3,
        "paused",
        3,
    )
    assert (status.ran, status.skipped) == (1, 3)


async def test_pausing_and_resuming_again_changes_nothing() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(1)
        assert await app.schedules.resume("tick") == await app.schedules.resume("tick")
        assert (await app.schedules.pause("tick", "a")).paused == (
            await app.schedules.pause("tick", "a")
        ).paused


async def test_run_enqueues_a_job_now() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(1)
        status = await app.schedules.run("tick")
        await t.drain()

        assert [each.job_id for each in t.enqueued("tick")] == [status.last_job]


async def test_run_refuses_while_the_last_job_is_live_and_would_be_overlapped() -> None:
    app = make(queue="nobody")
    async with noria.testing.run(app, now=AT, queues=("default",)) as t:
        await t.advance(1)
        await app.schedules.run("tick")

        with pytest.raises(WrongState, match="has not ended"):
            await app.schedules.run("tick")


async def test_a_backfill_runs_slots_of_the_past_once_more() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(35)
        assert await app.schedules.backfill("tick", AT, AT + timedelta(seconds=20)) == 2
        await t.advance(4)
        status = await app.schedules.get("tick")

    assert (status.ran, status.backlog) == (5, 0)
    assert {each.first for each in status.log[:2]} == {AT + timedelta(seconds=10), AT + timedelta(seconds=20)}


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (AT, AT),
        (AT + timedelta(1), AT),
        (AT, AT + timedelta(days=9)),
        (AT.replace(tzinfo=None), AT),
        ("a", "b"),
    ],
)
async def test_a_backfill_of_no_time_of_the_past_is_refused(since: Any, until: Any) -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(35)
        with pytest.raises(InvalidOption):
            await app.schedules.backfill("tick", since, until)


async def test_a_backfill_of_too_many_slots_is_refused_whole() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(35)
        with pytest.raises(InvalidOption, match="1,000 slots"):
            await app.schedules.backfill("tick", AT - timedelta(days=1), AT)
        assert (await app.schedules.get("tick")).backlog == 0


async def test_a_timer_is_made_changed_and_deleted_while_workers_run() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(1)
        made = await app.schedules.put("mine", "tick", every=5, args={"n": 9})
        await t.advance(11)
        ran = await app.schedules.get("mine")
        changed = await app.schedules.put("mine", "tick", cron="0 0 * * *")
        await app.schedules.delete("mine")
        await t.advance(3_600)

        assert (made.source, made.ran, ran.ran) == ("api", 0, 2)
        assert (changed.rule, changed.ran) == ("cron 0 0 * * * (UTC)", 2)
        assert [each.name for each in await app.schedules.list()] == ["tick"]


async def test_a_timer_of_code_is_not_changed_by_persons() -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(1)
        with pytest.raises(WrongState, match="declared in code"):
            await app.schedules.put("tick", "tick", every=5)


@pytest.mark.parametrize(
    "rule", [{}, {"every": 5, "cron": "* * * * *"}, {"every": "soon"}, {"cron": "nonsense"}]
)
async def test_a_timer_with_a_wrong_rule_is_not_made(rule: dict[str, Any]) -> None:
    app = make()
    async with noria.testing.run(app, now=AT) as t:
        await t.advance(1)
        with pytest.raises(InvalidInput):
            await app.schedules.put("mine", "tick", **rule)
        with pytest.raises(UnknownTask):
            await app.schedules.put("mine", "tack", every=5)
        assert len(await app.schedules.list()) == 1


@pytest.mark.parametrize("call", ["get", "pause", "resume", "run", "delete"])
async def test_a_timer_that_is_not_there_is_not_found(call: str) -> None:
    app = make()
    async with noria.testing.run(app, now=AT):
        with pytest.raises(ScheduleNotFound, match="no timer 'gone'"):
            await getattr(app.schedules, call)("gone")
