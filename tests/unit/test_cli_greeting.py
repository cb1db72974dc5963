"""What `noria up` says first is short, true, and can be tried."""

from __future__ import annotations

import shlex
from dataclasses import replace

import msgspec
import pytest

import noria.testing
from noria.app.application import Noria
from noria.app.signature import read_signature
from noria.backends.contract import Counts, QueueCounts
from noria.cli import greeting
from noria.cli.arguments import from_words
from noria.cli.front import Site
from noria.cli.greeting import Facts
from noria.model.state import State
from noria.worker import WorkerSettings


def facts(**given: object) -> Facts:
    fields = {
        "store": "sqlite, /x/noria.db, 1 KiB", "reach": "single machine", "durability": "survives",
        "tasks": ("add",), "queues": ("default",),
        "waiting": "nothing", "warnings": (), "settings": WorkerSettings(concurrency=5, threads=2), "attempt": None,
    }  # fmt: skip
    return Facts(**{**fields, **given})  # type: ignore[arg-type]  # fields of a test


def test_it_is_under_20_lines_whatever_there_is() -> None:
    many = tuple(f"task{n}" for n in range(500))
    text = list(
        greeting.lines(
            facts(
                tasks=many,
                queues=many,
                warnings=many,
                attempt=("noria enqueue", "3"),
                api="here",
                curl="curl",
            )
        )
    )
    assert len(text) < 20
    assert max(map(len, text)) < 300
    assert any("and 492 more" in line for line in text)


def test_it_says_what_there_is() -> None:
    text = "\n".join(greeting.lines(facts()))
    for part in (
        "single machine; survives",
        "1 task: add; 1 queue: default",
        "async 5, threads 2",
        "again stops now",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("sqlite:///shop.db", "single machine"),
        ("redis://:s3cret@cache.example:6379/1?namespace=shop", "any number of machines"),
        ("postgresql://shop:s3cret@db.example/shop", "any number of machines"),
        (None, ""),
    ],
)
def test_it_knows_on_how_many_machines_workers_may_be(url: str | None, reach: str) -> None:
    store, found = greeting.store_of(url)

    assert found == reach
    assert "s3cret" not in store


@pytest.mark.parametrize("reach", ["any number of machines", ""])
def test_it_says_on_how_many_machines_workers_may_be(reach: str) -> None:
    text = [line.strip() for line in greeting.lines(facts(reach=reach))]

    assert (f"{reach}; survives" if reach else "survives") in text


def test_it_says_how_many_timers_there_are_only_if_there_are_some() -> None:
    assert "1 queue: default; 2 timers (next in 41 s)" in "\n".join(
        greeting.lines(facts(timers="2 timers (next in 41 s)"))
    )
    assert "timer" not in "\n".join(greeting.lines(facts()))


async def timers_at(now: float, *, paused: bool = False, others: bool = False) -> str:
    """What is said of an hourly timer of code and one that a person made, a day apart."""
    app = Noria()

    @app.every("1h")
    @app.task
    async def tick() -> None: ...

    async with noria.testing.run(app) as t:
        await t.advance(1)
        await app.schedules.put("daily", tick, every="1d")
        if paused:
            await app.schedules.pause("tick")
        stored = await app.schedules.list()
        if others:
            stored = [msgspec.structs.replace(each, source="code", name="x" + each.name) for each in stored]
        return greeting.timers_of(stored, app.declared_schedules(), now)


async def test_timers_of_code_and_of_people_are_counted_with_the_soonest_slot() -> None:
    assert await timers_at(86_400.0 - 41) == "2 timers (next in 41 s)"


async def test_a_timer_that_is_paused_is_not_next() -> None:
    assert (await timers_at(0.0, paused=True)).startswith("2 timers (next in ")
    assert await timers_at(0.0, paused=True) != await timers_at(0.0)


async def test_timers_of_code_that_is_not_here_are_not_counted() -> None:
    assert await timers_at(3_600.0 - 5, others=True) == "1 timer (next in 5 s)"


def test_without_timers_nothing_is_said() -> None:
    assert greeting.timers_of([], {}, 0.0) == ""


def application() -> Noria:
    app = Noria()

    @app.task
    async def log_it(text: str) -> None: ...

    @app.task
    async def greet(name: str, times: int = 1) -> str:
        return name * times

    return app


def test_the_command_is_of_the_first_task_that_answers_and_can_be_run() -> None:
    app = application()
    found = greeting.attempt(app.tasks, name="my app.py", url="sqlite:///x.db")
    assert found is not None
    words = shlex.split(found[0])
    assert words == [
        "noria", "enqueue", "greet", "name=hello", "--wait", "10", "--app", "my app.py", "--url", "sqlite:///x.db",
    ]  # fmt: skip
    signature = read_signature(app.tasks["greet"].handler, "greet")
    assert from_words(signature, words[3:4]) == {"name": "hello"}
    assert found[1] == "what greet returns (str)"


def test_without_an_answer_any_task_will_do_and_without_a_task_none() -> None:
    app = application()
    silent = {"log_it": app.tasks["log_it"]}
    assert greeting.attempt(silent, name="a.py", url=None) == (
        "noria enqueue log_it text=hello --wait 10 --app a.py",
        "null",
    )
    assert greeting.attempt({}, name="a.py", url=None) is None


def test_credentials_are_not_repeated() -> None:
    found = greeting.attempt(application().tasks, name="a.py", url="redis://me:geheim@host/0")
    assert found is not None
    assert "geheim" not in found[0]


def test_work_that_nobody_here_does_is_a_warning() -> None:
    counts = Counts(
        {"far": QueueCounts({State.QUEUED: 2, State.PARKED: 1}), "default": QueueCounts({State.QUEUED: 9})},
        [],
    )
    warnings = list(greeting._warnings(("default",), counts))
    assert len(warnings) == 2
    assert all("far" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("queues", "text"),
    [
        ({}, "nothing"),
        (
            {
                "a": QueueCounts({State.QUEUED: 2}, dead=1),
                "b": QueueCounts({State.QUEUED: 1, State.SUCCEEDED: 5}),
            },
            "3 queued, 1 dead letter",
        ),
    ],
)
def test_what_waits_is_summed_up(queues: dict[str, QueueCounts], text: str) -> None:
    assert greeting._waiting(Counts(queues, [])) == text


HERE = Site(url="http://127.0.0.1:8080", port=8080)


def test_over_http_a_task_that_is_safe_is_read_and_another_is_posted_to() -> None:
    app = application()
    assert greeting.curl(app.tasks, HERE) == (
        "curl http://127.0.0.1:8080/v1/call/greet -H 'Content-Type: application/json' -d '{\"name\":\"hello\"}'"
    )

    @app.task(safe=True)
    async def find(text: str, limit: int) -> str:
        return text * limit

    assert greeting.curl(app.tasks, HERE) == "curl 'http://127.0.0.1:8080/v1/call/find?text=hello&limit=3'"
    assert greeting.curl({}, HERE) is None
    assert greeting.curl(app.tasks, Site(missing="uvicorn")) is None


def test_a_task_that_is_safe_comes_before_others_that_answer() -> None:
    app = application()

    @app.task(safe=True)
    async def find() -> str:
        return "found"

    found = greeting.attempt(app.tasks, name="a.py", url=None)
    assert found is not None
    assert found[0].startswith("noria enqueue find ")
    assert greeting.curl(app.tasks, HERE) == "curl http://127.0.0.1:8080/v1/call/find"


def test_where_a_key_is_asked_for_the_command_has_it_from_the_environment() -> None:
    found = greeting.curl(application().tasks, replace(HERE, locked=True))
    assert found is not None
    assert found.endswith(' -H "Authorization: Bearer $NORIA_API_KEY"')


@pytest.mark.parametrize(
    ("site", "parts"),
    [
        (HERE, ("http://127.0.0.1:8080, documented at http://127.0.0.1:8080/docs; no key is needed",)),
        (replace(HERE, url="http://127.0.0.1:8081"), ("http://127.0.0.1:8081 (8080 is taken)",)),
        (replace(HERE, locked=True), ("with a key",)),
        (Site(missing="uvicorn"), ("none", "uvicorn", "pip install noria[serve]")),
    ],
)
def test_it_says_where_the_front_is_or_why_there_is_none(site: Site, parts: tuple[str, ...]) -> None:
    text = greeting.told(site)
    assert all(part in text for part in parts), text
    assert ("taken" in text) == (site.url.endswith("8081"))
