"""Families, resources and rates of an application: declared once, checked at once, and found in the arguments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from noria import Context, Noria, Router, Snooze
from noria.app.ties import rate_of
from noria.errors import ConfigError, InvalidArguments, InvalidInput, InvalidOption
from noria.model.groups import GroupRef, Rate, Rule
from noria.testing import run


def application(**family: Any) -> Noria:
    app = Noria("sqlite:///unused.db")
    app.group("host", **{"limit": 2, **family})
    return app


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/s", Rate(10, 1.0)),
        ("1/min", Rate(1, 60.0)),
        ("100/5min", Rate(100, 300.0)),
        ("2/500ms", Rate(2, 0.5)),
        ("1000/d", Rate(1000, 86_400.0)),
        ("3 / 1.5h", Rate(3, 5_400.0)),
    ],
)
def test_a_rate_is_written_as_people_say_it(text: str, rate: Rate) -> None:
    assert rate_of("rate", text) == rate


@pytest.mark.parametrize(
    "text", ["10", "10/", "/s", "0/s", "10/week", "-1/s", "ten/s", 10, "1/0s", "1/.s", "١٠/s", "10/s\n"]
)
def test_what_is_no_rate_is_refused_at_once(text: Any) -> None:
    with pytest.raises(InvalidOption):
        rate_of("rate", text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": True},
        {"limit": 2, "ordered": True},
        {"aside": 3},
        {"rate": "10"},
        {"rate": "10/s", "burst": 0},
        {"weights": {"a": 0}},
        {"weights": {"a": 2}, "fair": False},
        {"limit": 1.5},
        {"limit": "2"},
        {"rate": "1/s", "burst": 1.5},
        {"burst": 5},
        {"rate": Rate(1), "burst": 5},
        {"ordered": 1},
        {"ordered": "yes"},
        {"ordered": True, "aside": "3"},
        {"fair": "no"},
        {"weights": {"a": 1.5}},
        {"weights": ["a"]},
    ],
)
def test_a_family_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        Noria().group("host", **wrong)


async def test_an_argument_that_is_left_out_has_the_group_of_its_default() -> None:
    app = application()

    @app.task(group=("host", "where.host"))
    async def fetch(where: str = "https://a.example/x") -> None: ...

    async with run(app):
        job = await fetch.options(delay=60).enqueue()

        assert (await job.status()).group == ("host", "a.example")


async def test_a_path_that_begins_with_no_argument_is_refused_when_a_worker_is_made() -> None:
    app = application()

    @app.task(group=("host", "nope.host"))
    async def fetch(where: str) -> None: ...

    with pytest.raises(ConfigError, match=r"task 'fetch'.*no argument 'nope'"):
        app.sheets()


async def test_a_function_of_groups_that_raises_is_told_with_its_task() -> None:
    app = application()

    @app.task(group=("host", lambda n: str(1 // n)))
    async def divide(n: int) -> None: ...

    async with run(app):
        with pytest.raises(InvalidArguments, match=r"task 'divide'.*ZeroDivisionError") as caught:
            await divide.enqueue(0)

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


async def test_a_retry_with_arguments_of_another_group_is_refused() -> None:
    app = application()

    @app.task(group=("host", "host"))
    async def fetch(host: str) -> None: ...

    async with run(app):
        job = await fetch.options(delay=60).enqueue("a")
        await job.cancel()

        with pytest.raises(InvalidArguments, match=r"host=a.*host=b"):
            await job.retry(fetch.job("b"))

        assert await job.retry(fetch.job("a")) == "queued"


def test_names_are_declared_once() -> None:
    app = application()
    app.resource("tunnel", capacity=4)

    with pytest.raises(InvalidOption, match="twice"):
        app.group("host")
    with pytest.raises(InvalidOption, match="twice"):
        app.resource("tunnel", capacity=1)
    with pytest.raises(InvalidOption, match="limits nothing"):
        app.resource("screen")


@pytest.mark.parametrize("options", [{"group": ("user", "url")}, {"needs": ("tunnel",)}])
async def test_what_a_task_refers_to_must_be_declared(options: dict[str, Any]) -> None:
    app = application()

    @app.task(**options)
    async def fetch(url: str) -> None: ...

    with pytest.raises(ConfigError, match="declared"):
        app.sheets()


@pytest.mark.parametrize(
    "options",
    [
        {"group": "host"},
        {"group": ("host",)},
        {"group": ("host", "")},
        {"group": ("a b", "url")},
        {"needs": "tunnel"},
        {"needs": ()},
        {"rate": "often"},
    ],
)
def test_options_of_the_wrong_form_are_refused_at_the_declaration(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Noria().task(**options)


class Order(msgspec.Struct):
    customer: dict[str, str]
    items: list[int]


KEYS: list[tuple[str | Callable[..., Any], tuple[Any, ...], str | None]] = [
    ("url", ("x",), "x"),
    ("url.host", ("https://Shop.Example:8443/item?x=1",), "shop.example"),
    ("url.customer.name", (Order({"name": "ann"}, [7]),), "ann"),
    ("url.items.0", (Order({}, [7]),), "7"),
    ("url", (None,), None),
    (lambda url: url.upper(), ("x",), "X"),
    (lambda url: None, ("x",), None),
    (lambda url: 7, ("x",), "7"),
]


@pytest.mark.parametrize(("key", "args", "found"), KEYS, ids=map(str, range(len(KEYS))))
def test_the_key_is_found_in_the_arguments(key: Any, args: tuple[Any, ...], found: str | None) -> None:
    app = application()

    @app.task(group=("host", key))
    async def fetch(url: Any) -> None: ...

    group = fetch.job(*args).new.group
    assert (group and group.ref) == (None if found is None else GroupRef("host", found))
    assert group is None or group.rule == Rule(limit=2)


@pytest.mark.parametrize(
    ("key", "value"),
    [("url.host", "no url"), ("url.name", {}), ("url", ""), ("url", [1]), ("url", "x" * 600)],
)
def test_a_job_without_its_key_is_refused(key: str, value: Any) -> None:
    app = application()

    @app.task(group=("host", key))
    async def fetch(url: Any) -> None: ...

    with pytest.raises(InvalidArguments):
        fetch.job(value)


def test_a_job_may_say_its_group_itself() -> None:
    app = application()
    app.group("user", ordered=True)

    @app.task(group=("host", "url"), rate="10/s")
    async def fetch(url: str) -> None: ...

    named = fetch.options(group=("user", "ann")).job("x").new
    assert named.group is not None
    assert (named.group.ref, named.group.rule) == (GroupRef("user", "ann"), Rule(ordered=True))
    assert [need.name for need in named.needs] == ["task:fetch"]
    assert fetch.options(group=None).job("x").new.group is None
    with pytest.raises(ConfigError):
        fetch.options(group=("nobody", "x")).job("x")


def test_a_router_may_refer_to_families_of_its_application() -> None:
    router = Router()

    @router.task(group=("host", "url"), needs=["tunnel"])
    async def fetch(url: str) -> None: ...

    app = application()
    app.resource("tunnel", capacity=4)
    app.include(router)

    assert fetch.job("x").new.needs == (app.home.families.resources["tunnel"],)


async def test_a_job_closes_its_group_and_comes_back_uncounted() -> None:
    app = application(limit=1)
    ran: list[tuple[int, int]] = []

    @app.task(group=("host", "host"))
    async def fetch(ctx: Context, host: str, n: int) -> int:
        ran.append((n, ctx.attempt))
        if n == 0 and ctx.starts == 1:
            assert ctx.group == host
            ctx.close_group(30)
            raise Snooze(0, "429")
        return n

    async with run(app) as trial:
        jobs = [await fetch.enqueue("a", n) for n in range(3)]
        began = trial.now
        assert [await job for job in jobs] == [0, 1, 2]
        assert trial.now - began >= timedelta(seconds=30)

    assert sorted(ran) == [(0, 1), (0, 1), (1, 1), (2, 1)]


async def test_a_thread_closes_its_group_too() -> None:
    app = application(limit=1)

    @app.task(group=("host", "host"))
    def fetch(ctx: Context, host: str) -> None:
        ctx.close_group(30)

    async with run(app) as trial:
        await (await fetch.enqueue("a"))
        (line,) = await app.backend.groups()
        assert line.closed is not None
        assert line.closed.until == pytest.approx(trial.now.timestamp() + 30, abs=1)


async def test_only_a_job_of_a_group_can_close_one() -> None:
    app = application()

    @app.task
    async def fetch(ctx: Context) -> str:
        try:
            ctx.close_group(5)
        except InvalidOption as error:
            return error.field
        return ""

    async with run(app):
        assert await (await fetch.enqueue()) == "group"


async def test_a_limit_holds_while_a_worker_has_many_slots() -> None:
    app = application(limit=3)
    running, most = 0, 0

    @app.task(group=("host", "host"))
    async def fetch(host: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        running -= 1

    async with run(app):
        for job in [await fetch.enqueue("a") for _ in range(20)]:
            await job

    assert 1 <= most <= 3
