"""The application from code without an event loop, and beside one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from noria import ConfigError, InvalidArguments, Noria, NotRunning, TaskFunction, WaitTimeout


@pytest.fixture
def app(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Noria]:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp / "run"))
    app = Noria(f"sqlite:///{short_tmp}/store.db?synchronous=normal")
    yield app
    app.sync.close()


@pytest.fixture
def double(app: Noria) -> TaskFunction[[int], int, [int], int]:
    @app.task
    def double(n: int) -> int:
        return 2 * n

    return double


Double = TaskFunction[[int], int, [int], int]


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "noria-sync"]


def test_no_thread_is_started_before_the_first_call(app: Noria) -> None:
    assert threads() == []
    app.sync.close()
    assert threads() == []


def test_jobs_are_enqueued_and_steered_without_a_loop(app: Noria, double: Double) -> None:
    job = app.sync.enqueue(double, 4)
    later = app.sync.enqueue(double.options(delay=60), n=5)
    assert threads() == ["noria-sync"]
    assert app.sync.status(job).state == "queued"
    assert "scheduled" in app.sync.explain(later)
    assert app.sync.cancel(later) == "cancelled"
    assert app.sync.retry(later) == "queued"
    assert [each.created for each in app.sync.enqueue_many(double.job(n) for n in range(3))] == [True] * 3
    with pytest.raises(WaitTimeout):
        app.sync.result(job, 0.01)
    with pytest.raises(InvalidArguments):
        app.sync.enqueue(double, "4")


def test_it_may_be_closed_and_used_again(app: Noria, double: Double) -> None:
    first = app.sync.enqueue(double, 1)
    app.sync.close()
    assert threads() == []
    assert app.sync.status(first).state == "queued"
    assert threads() == ["noria-sync"]


def test_threads_may_share_it(app: Noria, double: Double) -> None:
    ids: list[str] = []
    crowd = [threading.Thread(target=lambda: ids.append(app.sync.enqueue(double, 1).id)) for _ in range(20)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    assert len(set(ids)) == 20
    assert threads() == ["noria-sync"]


async def test_it_refuses_to_block_a_loop(app: Noria, double: Double) -> None:
    with pytest.raises(NotRunning, match="await the coroutine instead"):
        app.sync.enqueue(double, 1)
    async with app:
        with pytest.raises(NotRunning, match="await the coroutine instead"):
            app.sync.enqueue(double, 1)


async def test_a_thread_beside_an_open_application_uses_its_loop(app: Noria, double: Double) -> None:
    async with app:
        job = await asyncio.to_thread(app.sync.enqueue, double, 1)
        assert threads() == []
        assert (await job.status()).state == "queued"


async def test_closing_the_application_ends_the_wait_of_a_thread(app: Noria, double: Double) -> None:
    begun = threading.Event()

    def wait() -> None:
        job = app.sync.enqueue(double, 1)
        begun.set()
        app.sync.result(job)

    async with app:
        waiting = asyncio.ensure_future(asyncio.to_thread(wait))
        await asyncio.to_thread(begun.wait)
        while not app._links.here().outcomes._waiting:
            await asyncio.sleep(0)
    with pytest.raises(NotRunning, match="was closed"):
        await waiting


def test_an_application_that_cannot_be_opened_says_so_each_time(double: Double, app: Noria) -> None:
    app.url = "amqp://u:s3cret@h"
    for _ in range(2):
        with pytest.raises(ConfigError, match="not in this version"):
            app.sync.enqueue(double, 1)
    assert threads() == []


def run(program: str, folder: Path) -> str:
    environment = {
        **os.environ,
        "NORIA_RUNTIME_DIR": str(folder / "run"),
        "NORIA_URL": f"sqlite:///{folder}/s.db",
    }
    command = [sys.executable, "-W", "error", "-c", HEAD + textwrap.dedent(program)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, timeout=30
    ).stdout


HEAD = """
import os
from noria import Noria
app = Noria()
@app.task
def double(n: int) -> int:
    return 2 * n
"""


@pytest.mark.slow
def test_a_script_ends_by_itself(short_tmp: Path) -> None:
    assert run("print(app.sync.status(app.sync.enqueue(double, 1)).state)", short_tmp) == "queued\n"


@pytest.mark.slow
def test_a_forked_process_opens_its_own(short_tmp: Path) -> None:
    """As servers do that load the application first and fork afterwards."""
    program = """
        first = app.sync.enqueue(double, 1)
        if os.fork() == 0:
            print("child", app.sync.status(first).state, app.sync.enqueue(double, 2).created, flush=True)
            os._exit(0)
        os.wait()
        print("parent", app.sync.status(first).state)
        """
    assert run(program, short_tmp) == "child queued True\nparent queued\n"
