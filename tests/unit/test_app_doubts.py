"""Settings under which jobs would wait in vain are told before the first one does."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from noria import Noria
from noria.app.doubts import doubts
from noria.worker import WorkerSettings


def application() -> Noria:
    app = Noria("sqlite:///not-opened.db")

    @app.task(queue="mail")
    async def send() -> None: ...

    @app.task
    def render() -> None: ...

    return app


def said(**settings: Any) -> list[str]:
    return list(doubts(application().tasks, WorkerSettings(**{"threads": 2, **settings})))


def test_usual_settings_leave_no_doubt() -> None:
    assert said() == []
    assert said(queues=("mail", "default")) == []


def test_a_misspelt_queue_is_named_with_the_one_that_was_meant_and_those_there_are() -> None:
    assert said(queues=("mial", "default")) == [
        "no task of this application uses queue 'mial'; did you mean 'mail'? (its tasks use default, mail)"
    ]


def test_a_queue_that_is_like_no_other_is_named_with_those_there_are() -> None:
    assert said(queues=("xyz",)) == [
        "no task of this application uses queue 'xyz' (its tasks use default, mail)"
    ]


def test_tasks_that_no_slot_is_for_are_named() -> None:
    assert said(threads=0) == [
        "threads is 0: this worker runs no job of render; raise it, or start another worker"
    ]


def test_tasks_that_need_a_process_are_named_too() -> None:
    app = application()

    @app.task(executor="process")
    def crunch() -> None: ...

    assert list(doubts(app.tasks, WorkerSettings(threads=2, process_slots=0))) == [
        "process_slots is 0: this worker runs no job of crunch; raise it, or start another worker"
    ]


def test_tasks_of_queues_that_are_not_served_need_no_slots() -> None:
    assert said(threads=0, queues=("mail",)) == []


async def test_a_worker_logs_its_doubts(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = application()
    app.url = f"sqlite:///{short_tmp}/store.db"
    async with app:
        app.worker(queues=("mial",), threads=0)

    assert [record.getMessage()[:34] for record in caplog.records if record.levelno == logging.WARNING] == [
        "no task of this application uses q"
    ]
