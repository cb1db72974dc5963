"""`app.queue`: what an application says about its queues, and what becomes of that where it is opened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noria import Noria
from noria.app.doubts import worker_settings
from noria.backends.contract import DocWrite, Limit, QueueLimits, QueueRef
from noria.errors import ConfigError, InvalidName, InvalidOption, QueueFull
from noria.ids import IdSource
from noria.model.schedule import Template, job_of
from tests.support.manual import ManualClock
from tests.support.workplace import Workplace, in_virtual_time


def declared(place: Workplace, **options: Any) -> Noria:
    """The application of another process, which says this about the queue "mail"."""
    app = Noria(backend=place.store, clock=place.clock, entropy=place.dice.randbytes)
    app.queue("mail", **options)
    return app


async def opened(place: Workplace, **options: Any) -> QueueLimits:
    """The limits of "mail" after an application was opened that says this about it."""
    app = declared(place, **options)
    await app._queues.apply(place.store)
    found = (await place.store.counts()).queues.get("mail")
    return QueueLimits() if found is None else found.limits


@in_virtual_time
async def test_limits_are_there_when_the_application_is_open() -> None:
    place = Workplace()
    place.app.queue("detail", order="newest", max_age=3600, max_length=100_000, concurrency=10, weight=8)
    async with place:
        limits = (await place.store.counts()).queues["detail"].limits

    assert limits == QueueLimits(order="newest", max_age=3600.0, max_length=100_000, concurrency=10)


@in_virtual_time
async def test_what_a_person_has_changed_outlives_a_restart() -> None:
    async with Workplace() as place:
        await opened(place, concurrency=10, max_length=50)
        await place.store.steer(QueueRef("mail"), Limit(concurrency=3))

        assert await opened(place, concurrency=10, max_length=50) == QueueLimits(concurrency=3, max_length=50)


@in_virtual_time
async def test_code_that_says_something_else_than_before_is_heard() -> None:
    async with Workplace() as place:
        await opened(place, concurrency=10, max_length=50)
        await place.store.steer(QueueRef("mail"), Limit(concurrency=3, max_length=99))

        assert await opened(place, concurrency=20, max_length=50) == QueueLimits(
            concurrency=20, max_length=99
        )
        assert await opened(place, max_length=50) == QueueLimits(max_length=99)


@in_virtual_time
async def test_what_a_person_has_set_before_is_not_lifted_by_code_that_is_silent_about_it() -> None:
    async with Workplace() as place:
        await place.store.steer(QueueRef("mail"), Limit(max_age=60.0, concurrency=2))

        assert await opened(place, concurrency=5) == QueueLimits(max_age=60.0, concurrency=5)


@in_virtual_time
async def test_what_another_version_has_written_is_as_if_nothing_was_declared() -> None:
    async with Workplace() as place:
        await place.store.write([DocWrite("queue", "mail", b'{"order": "by-luck"}')])

        assert await opened(place, concurrency=5) == QueueLimits(concurrency=5)


@in_virtual_time
async def test_a_full_queue_is_an_error_that_names_what_was_refused() -> None:
    place = Workplace()
    place.app.queue("mail", max_length=3)

    @place.app.task(queue="mail")
    async def send(n: int) -> int:
        return n

    async with place:
        drafts = [send.job(n) for n in range(5)]
        with pytest.raises(QueueFull, match="'mail' is full: 3 jobs may wait in it") as many:
            await place.app.enqueue_many(drafts)
        with pytest.raises(QueueFull) as one:
            await send.enqueue(9)

        # Nothing that was taken is doubled, and what was refused can be asked for again.
        await place.store.steer(QueueRef("mail"), Limit(max_length=None))
        await place.app.enqueue_many(drafts)
        states = (await place.store.counts()).queues["mail"].states

    assert many.value.queue == one.value.queue == "mail"
    assert len(many.value.job_ids) == 2
    assert len(one.value.job_ids) == 1
    assert sum(states.values()) == 5


def test_the_jobs_of_a_timer_are_let_into_a_full_queue() -> None:
    template = Template(task="tick", queue="mail", body=b"[]")

    assert job_of(template, IdSource(ManualClock()).next(), "tick", 10.0, 10.0).admitted


@in_virtual_time
async def test_a_queue_that_runs_all_it_may_takes_no_slot_and_goes_on_at_once() -> None:
    place = Workplace(poll=60.0)
    place.app.queue("mail", concurrency=2)
    running, most = 0, 0

    @place.app.task(queue="mail")
    async def send() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.1)
        running -= 1

    @place.app.task
    async def other() -> str:
        return "done"

    async with place:
        await place.app.enqueue_many(send.job() for _ in range(10))
        job = await other.enqueue()
        await place.hire(concurrency=3, poll=60.0)
        before = place.loop.time()

        assert await job.result(1) == "done"
        assert "runs 2 jobs at most, and 2 run" in await (await send.enqueue()).explain()
        await place.until(lambda: most == 2 and running == 0)
        took = place.loop.time() - before

    assert most == 2
    assert took < 5


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"order": "newest"}, "max_age"),
        ({"high_water": {"mail": 5}}, "high_water"),
        ({"high_water": {"other": 0}}, "high_water"),
        ({"order": "random"}, "order"),
        ({"concurency": 3}, "concurency"),
        ({"concurrency": 0}, "concurrency"),
        ({"max_length": -1}, "max_length"),
        ({"max_age": "1h"}, "max_age"),
        ({"ageing": 0}, "ageing"),
        ({"weight": 0}, "weight"),
    ],
    ids=str,
)
def test_a_declaration_that_makes_no_sense_is_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        Noria("sqlite:///not-opened.db").queue("mail", **options)

    assert caught.value.field == field


def test_a_queue_is_declared_once_and_by_a_name() -> None:
    app = Noria("sqlite:///not-opened.db")
    app.queue("mail")

    with pytest.raises(ConfigError, match="declared twice"):
        app.queue("mail", concurrency=3)
    with pytest.raises(InvalidName):
        app.queue("my mail")


def test_a_worker_has_the_weights_that_are_declared_unless_it_is_told_others() -> None:
    weights = {"detail": 8, "list": 2}

    assert worker_settings({}, {}, weights).weights == weights
    assert worker_settings({"weights": {"list": 5}}, {}, weights).weights == {"detail": 8, "list": 5}
    assert worker_settings({}, {}, weights).weighted(("list", "other")) == {"list": 2, "other": 1}


def test_two_queues_do_not_hold_each_other() -> None:
    app = Noria()
    app.queue("lists", high_water={"details": 5})

    with pytest.raises(
        InvalidOption, match="'details' cannot be held by 'lists', which is held by 'details'"
    ):
        app.queue("details", high_water={"lists": 5})


@in_virtual_time
async def test_code_may_turn_round_which_queue_holds_the_other() -> None:
    async with Workplace() as place:
        for first in ("a", "b"):
            app = Noria(backend=place.store, clock=place.clock, entropy=place.dice.randbytes)
            app.queue("a", high_water={"b": 5} if first == "a" else None)
            app.queue("b", high_water={"a": 5} if first == "b" else None)
            await app._queues.apply(place.store)

        found = (await place.store.counts()).queues
        assert (found["b"].limits, found.get("a")) == (QueueLimits(high_water={"a": 5}), None)


@in_virtual_time
async def test_a_job_of_a_queue_that_is_held_says_so() -> None:
    place = Workplace()
    place.app.queue("lists", high_water={"details": 2})

    @place.app.task(queue="lists")
    async def list_page() -> None: ...

    @place.app.task(queue="details")
    async def detail_page() -> None: ...

    async with place:
        job = await list_page.enqueue()
        await place.app.enqueue_many([detail_page.job() for _ in range(3)])
        reasons = {reason.code: reason for reason in await job.reasons()}

    told = {"queue": "lists", "held_by": "details", "waiting": 3, "high_water": 2}
    assert reasons["queue_held"].fields == told
    assert "behind" not in reasons
    assert reasons["queue_held"].text == "queue 'lists' is held: 3 jobs wait in 'details', and the mark is 2"
