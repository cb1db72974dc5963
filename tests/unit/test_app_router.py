"""Routers: tasks declared without an application, and taken in by one."""

from __future__ import annotations

from typing import Any

import pytest

from noria import InvalidName, InvalidOption, Noria, NotRunning, Router, TaskDefinitionError
from tests.support.workplace import Workplace, in_virtual_time


async def work(n: int) -> int:
    return n


async def other() -> None: ...


@in_virtual_time
async def test_tasks_of_a_router_run_once_an_application_has_included_it() -> None:
    router = Router()
    double = router.task(work)
    later = double.options(delay=5, tags=["late"])
    async with Workplace() as place:
        place.app.include(router, prefix="math.", queue="numbers")

        await place.hire()
        assert await (await double.enqueue(4)) == 4
        job = await later.enqueue(5)
        assert await job == 5
        status = await job.status()
        assert (status.task, status.queue, status.tags) == ("math.work", "numbers", ("late",))
    assert double.name == "math.work"
    assert await double(3) == 3


async def test_until_then_its_tasks_cannot_be_enqueued() -> None:
    task = Router().task(work)

    with pytest.raises(NotRunning, match=r"'work' belongs to a router .* app.include"):
        await task.enqueue(1)
    with pytest.raises(NotRunning, match="router"):
        task.options(delay=1).job(1)


def test_mistakes_are_said_at_the_declaration() -> None:
    router = Router(prefix="a.")

    with pytest.raises(TaskDefinitionError, match="args"):

        @router.task
        async def bad(*args: int) -> None: ...

    with pytest.raises(InvalidOption, match="did you mean 'priority'"):
        router.task(work).options(prioritty=1)  # type: ignore[call-arg]  # the point of this test
    with pytest.raises(InvalidOption, match="did you mean 'attempts'"):
        Router(atempts=1)  # type: ignore[call-arg]  # the point of this test
    with pytest.raises(InvalidOption, match="prefix, not a name"):
        Router(name="x")
    with pytest.raises(InvalidName):
        Router(prefix="a b")
    with pytest.raises(InvalidName):
        Router(prefix=5)  # type: ignore[arg-type]  # the point of this test


def test_the_task_says_more_than_who_includes_and_that_more_than_the_router() -> None:
    app = Noria()
    router = Router(prefix="r.", queue="routers", attempts=9, tags=["from-router"])
    plain = router.task(work)
    own = router.task(name="own", queue="own", attempts=2)(other)

    assert (plain.definition.queue, own.definition.queue) == ("routers", "own")
    app.include(router, prefix="app.", queue="included")

    assert {name: (task.queue, task.attempts, task.tags) for name, task in app.tasks.items()} == {
        "app.r.work": ("included", 9, ("from-router",)),
        "app.r.own": ("own", 2, ("from-router",)),
    }
    assert app.find_task("app.r.work") is plain
    assert plain.job(1).new.queue == "included"


def test_tags_of_a_task_are_those_of_its_jobs_unless_they_have_their_own() -> None:
    app = Noria()
    task = app.task(tags=["mail"])(work)

    assert task.job(1).new.extras.tags == ("mail",)
    assert task.options(tags=["x"], correlation_id="c").job(1).new.extras.tags == ("x",)
    assert task.options(correlation_id="c").job(1).new.extras.tags == ("mail",)


def test_routers_may_be_nested() -> None:
    app, outer, inner = Noria(), Router(prefix="outer."), Router(prefix="inner.")
    task = inner.task(work)
    outer.include(inner, prefix="between.", queue="deep")

    app.include(outer, prefix="app.")

    assert task.definition.name == "app.outer.between.inner.work"
    assert task.definition.queue == "deep"


def test_a_name_that_is_taken_is_an_error_and_nothing_is_included() -> None:
    app, router = Noria(), Router()
    app.task(work)
    router.task(other)
    clash = router.task(work)

    with pytest.raises(TaskDefinitionError, match="'work' is declared twice"):
        app.include(router)

    assert list(app.tasks) == ["work"]
    with pytest.raises(NotRunning):
        clash.job(1)
    app.include(router, prefix="r.")
    assert sorted(app.tasks) == ["r.other", "r.work", "work"]


def test_two_tasks_of_one_name_in_a_router_clash() -> None:
    app, router = Noria(), Router()
    router.task(work)
    router.task(name="work")(other)

    with pytest.raises(TaskDefinitionError, match="declared twice"):
        app.include(router)
    assert not app.tasks


def test_a_router_is_included_once_and_then_closed() -> None:
    router = Router()
    router.task(work)
    Noria().include(router)

    with pytest.raises(TaskDefinitionError, match="include it once"):
        Noria().include(router)
    with pytest.raises(TaskDefinitionError, match="before that"):
        router.task(other)
    with pytest.raises(TaskDefinitionError, match="include it once"):
        Router().include(router)


def test_a_router_cannot_include_itself_nor_what_is_none() -> None:
    router = Router()
    with pytest.raises(TaskDefinitionError, match="itself"):
        router.include(router)
    for includer in (router, Noria()):
        with pytest.raises(TaskDefinitionError, match="only a Router"):
            includer.include(Noria())  # type: ignore[arg-type]  # the point of this test


@pytest.mark.parametrize(("prefix", "queue"), [("a b", None), ("", "a b"), ("x" * 128, None)])
def test_names_that_no_backend_accepts_are_refused(prefix: str, queue: Any) -> None:
    app, router = Noria(), Router()
    router.task(work)

    with pytest.raises(InvalidName):
        app.include(router, prefix=prefix, queue=queue)
    app.include(router)
