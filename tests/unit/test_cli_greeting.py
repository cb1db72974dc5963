"""What `noria up` says first is short, true, and can be tried."""

from __future__ import annotations

import shlex

import pytest

from noria.app.application import Noria
from noria.app.signature import read_signature
from noria.backends.contract import Counts, QueueCounts
from noria.cli import greeting
from noria.cli.arguments import from_words
from noria.cli.greeting import Facts
from noria.model.state import State
from noria.worker import WorkerSettings


def facts(**given: object) -> Facts:
    fields = {
        "store": "sqlite, /x/noria.db, 1 KiB", "durability": "survives", "tasks": ("add",), "queues": ("default",),
        "waiting": "nothing", "warnings": (), "settings": WorkerSettings(concurrency=5, threads=2), "attempt": None,
    }  # fmt: skip
    return Facts(**{**fields, **given})  # type: ignore[arg-type]  # fields of a test


def test_it_is_under_20_lines_whatever_there_is() -> None:
    many = tuple(f"task{n}" for n in range(500))
    text = list(greeting.lines(facts(tasks=many, queues=many, warnings=many, attempt=("noria enqueue", "3"))))
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
