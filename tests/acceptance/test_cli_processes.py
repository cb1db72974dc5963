"""`noria worker` and `noria up` as processes: signals, drains, kills, and logs that nobody reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import PROGRAM, Commands, commands, until

pytestmark = pytest.mark.kill

APP = """
import asyncio, atexit, concurrent.futures, contextlib, pathlib, signal, sys, threading, time
from noria import Context, Noria

app = Noria()
here = pathlib.Path(__file__).parent
atexit.register(lambda: (here / "exited").touch())

@app.task
async def add(a: int, b: int = 1) -> int:
    return a + b

@app.task(attempts=1)
async def fail(why: str = "no") -> None:
    raise ValueError(f"bad {why}")

@app.task
async def nap(seconds: float, mark: str = "napping") -> str:
    (here / mark).touch()
    await asyncio.sleep(seconds)
    return "rested"

@app.task
async def parent() -> int:
    job = await add.options(queue="nobodys").enqueue(1)
    (here / "waiting").touch()
    return await job

@app.task
def snore(seconds: float) -> str:
    (here / "snoring").touch()
    time.sleep(seconds)
    return "rested"

@app.task
async def block(seconds: float) -> None:
    (here / "blocking").touch()
    time.sleep(seconds)

@app.task
async def leave_thread() -> None:
    threading.Thread(target=time.sleep, args=(600,)).start()
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)

@app.task
async def stubborn() -> None:
    (here / "stubborn").touch()
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)

@app.task
async def take_signals() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
    signal.set_wakeup_fd(-1)
    (here / "taken").touch()
    await asyncio.sleep(600)
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP)
        made.environment["NORIA_APP"] = "shop.py"
        yield made


def state(noria: Commands, id: str) -> str:
    [job] = noria.json("jobs", "show", id)
    return str(job["state"])


def enqueue(noria: Commands, *words: str) -> str:
    done = noria.run("enqueue", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def busy(noria: Commands, mark: str, *words: str) -> str:
    """Enqueue a job, and wait until its handler has begun."""
    id = enqueue(noria, *words)
    until((noria.folder / mark).exists, what=f"{words} did not begin")
    return id


def test_term_finishes_what_runs_and_exits_0(noria: Commands) -> None:
    worker = noria.start("worker")
    id = busy(noria, "napping", "nap", "seconds=2")
    worker.signal(signal.SIGTERM)
    worker.says("draining", error=True)
    later = enqueue(noria, "add", "a=1")
    assert worker.ends() == 0
    assert state(noria, id) == "succeeded"
    assert state(noria, later) == "queued"
    assert (noria.folder / "exited").exists()
    assert "no worker is live" in noria.run("queues").stdout


def test_a_signal_that_is_passed_on_twice_counts_once(noria: Commands) -> None:
    worker = noria.start("worker")
    id = busy(noria, "napping", "nap", "seconds=2")
    worker.signal(signal.SIGINT)
    worker.signal(signal.SIGINT)
    assert worker.ends() == 0
    assert state(noria, id) == "succeeded"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_hands_back_at_once_and_exits_1(noria: Commands, number: signal.Signals) -> None:
    worker = noria.start("worker")
    id = busy(noria, "napping", "nap", "seconds=600")
    worker.signal(number)
    worker.says("draining", error=True)
    began = time.monotonic()
    until(lambda: worker.signal(number) or any("stopping now" in line for line in worker.err))
    assert worker.ends() == 1
    assert time.monotonic() - began < 10
    [job] = noria.json("jobs", "show", id)
    assert (job["state"], job["attempt"]) == ("queued", 1)


def test_ctrl_c_tells_which_job_it_waits_for_and_a_second_one_hastens(noria: Commands) -> None:
    worker = noria.start("worker", "-q", "default")
    id = busy(noria, "waiting", "parent")
    worker.signal(signal.SIGINT)
    told = worker.says("waiting up to", error=True)
    assert f"1 job: parent {id}; asked to stop again, it hands them back at once" in told
    began = time.monotonic()
    worker.signal(signal.SIGINT)
    assert worker.ends() == 1
    assert time.monotonic() - began < 10
    assert state(noria, id) == "queued"


def test_a_grace_that_is_over_cuts_the_drain_short(noria: Commands) -> None:
    worker = noria.start("worker", "--drain", "3")
    id = busy(noria, "napping", "nap", "seconds=600")
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.ends() == 1
    assert time.monotonic() - began < 8
    assert state(noria, id) == "queued"


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("snoring", ("snore", "seconds=600")),
        ("stubborn", ("stubborn",)),
        ("blocking", ("block", "seconds=600")),
    ],
)
def test_no_handler_keeps_a_worker_from_ending(noria: Commands, mark: str, words: tuple[str, ...]) -> None:
    worker = noria.start("worker", "--drain", "2.5")
    id = busy(noria, mark, *words)
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.ends() == 1
    assert time.monotonic() - began < 15
    # What was handed back, or is found by the journal of the dead process, is run again.
    helper = noria.start("worker", "-q", "other")
    until(lambda: state(noria, id) in ("queued", "retrying"), what=f"{id} did not come back")
    helper.kill()


def test_threads_that_handlers_left_behind_do_not_keep_a_worker_alive(noria: Commands) -> None:
    enqueue(noria, "leave_thread")
    began = time.monotonic()
    worker = noria.start("worker", "--burst")
    assert worker.ends() == 0
    assert time.monotonic() - began < 15


def test_signals_are_heard_although_a_handler_took_the_pipe(noria: Commands) -> None:
    worker = noria.start("worker", "--drain", "2.5")
    busy(noria, "taken", "take_signals")
    worker.signal(signal.SIGTERM)
    assert worker.ends() == 1
    worker.says("SIGTERM: draining", error=True)


def test_a_killed_worker_loses_nothing(noria: Commands) -> None:
    worker = noria.start("worker")
    id = busy(noria, "napping", "nap", "seconds=600")
    worker.signal(signal.SIGKILL)
    assert worker.ends() == -signal.SIGKILL
    (noria.folder / "napping").unlink()
    noria.start("worker")
    until((noria.folder / "napping").exists, what="it did not run again")
    [job] = noria.json("jobs", "show", id)
    assert (job["state"], job["crashes"], job["starts"]) == ("running", 1, 2)


def test_a_log_that_nobody_reads_does_not_stop_a_worker(noria: Commands) -> None:
    """R4: the pipe is full from the start, and every job logs."""
    near, far = os.pipe()
    os.set_blocking(far, False)
    try:
        while True:
            os.write(far, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(far, True)
    noria.run("enqueue", "fail", "-", input="\n".join(["[]"] * 300))
    words = [*PROGRAM, "worker", "--burst", "--verbose", "-c", "400"]
    with subprocess.Popen(words, cwd=noria.folder, env=noria.environment, stderr=far) as process:
        try:
            assert process.wait(40) == 0
        finally:
            process.kill()
    os.close(near)
    os.close(far)
    [queue] = noria.json("queues")
    assert queue["counts"] == {"failed": 300}


def test_the_log_is_json_if_wanted(noria: Commands) -> None:
    enqueue(noria, "fail", "why=a\x1b[31m\nb")
    done = noria.run("worker", "--burst", "--log-format", "json")
    records = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("bad a" in record["message"] and record["level"] == "warning" for record in records)
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--concurrency", "0"], "concurrency"),
        (["--threads", "-1"], "threads"),
        (["--drain", "soon"], "soon"),
        (["-q", "a b"], "queue"),
        (["-q", "default=2", "-q", "default=3"], "-q default: it is named twice"),
        (["-q", "default", "-q", "default=3"], "-q default: it is named twice"),
        (["--name", "a b"], "worker"),
        (["nowhere.py"], "no file"),
        (["nowhere:app"], "no module"),
        (["shop.py:add"], "Noria"),
        (["--url", "mysql://me:geheim@host/db"], "no backend"),
    ],
)
def test_what_is_wrong_is_2_before_anything_starts(noria: Commands, words: list[str], told: str) -> None:
    done = noria.run("worker", *words)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "geheim" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (noria.folder / "test.db").exists()


@pytest.mark.parametrize("command", ["worker", "up"])
def test_an_application_that_fails_to_import_shows_its_own_traceback(noria: Commands, command: str) -> None:
    noria.write("broken.py", "def f():\n    return 1 / 0\n\nf()\n")
    done = noria.run(command, "broken.py")
    assert done.returncode == 2
    assert 'broken.py", line 2, in f' in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "locate.py" not in done.stderr
    assert "cli/main.py" not in done.stderr


def test_tasks_of_the_same_name_are_an_error(noria: Commands) -> None:
    noria.write("twice.py", APP + "\n@app.task(name='add')\nasync def other() -> None: ...\n")
    done = noria.run("up", "twice.py")
    assert done.returncode == 2
    assert "declared twice" in done.stderr


def test_a_lifespan_that_fails_is_told_with_its_traceback(noria: Commands) -> None:
    lifespan = "\n@app.lifespan\nasync def life():\n    raise OSError('no database')\n    yield\n"
    noria.write("lost.py", APP + lifespan)
    done = noria.run("worker", "lost.py")
    assert done.returncode == 2
    assert "no database" in done.stderr
    assert "lost.py" in done.stderr


def test_a_store_that_is_none_is_2_and_one_that_cannot_be_opened_is_not_a_bug(noria: Commands) -> None:
    noria.write(
        "test.db", "this is no database, but a text of some length, so that nobody can mistake it\n" * 50
    )
    done = noria.run("worker")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert noria.run("jobs").returncode == 2


def up(noria: Commands, *words: str) -> Any:
    running = noria.start("up", *words)
    running.says("Ctrl-C drains")
    return running


def test_up_says_what_there_is_and_one_command_that_works(noria: Commands) -> None:
    running = up(noria, "shop.py", "--threads", "3", "-c", "7")
    greeting = running.out[: next(n for n, line in enumerate(running.out) if "Ctrl-C" in line) + 1]
    text = "\n".join(greeting)
    assert len(greeting) < 20
    for part in (
        "Noria 0",
        "Python 3",
        "test.db",
        "single machine",
        "9 tasks: add",
        "default",
        "async 7, threads 3",
    ):
        assert part in text, part
    [command] = [line.strip() for line in greeting if "noria enqueue" in line]
    words = command.split()
    assert words[:4] == ["noria", "enqueue", "add", "a=3"]
    done = noria.run(*words[1:])
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


def test_up_streams_one_line_for_each_finished_job(noria: Commands) -> None:
    running = up(noria, "shop.py")
    good = enqueue(noria, "add", "a=1")
    bad = enqueue(noria, "fail", "why=" + "x" * 300 + "\x1b[31m")
    line = running.says(good[-8:])
    assert "succeeded" in line and "add" in line and "1/5" in line
    line = running.says(bad[-8:])
    assert "failed" in line and "ValueError: bad xxx" in line and line.endswith("…")
    assert "\x1b" not in line and len(line) < 130
    running.signal(signal.SIGINT)
    assert running.ends() == 0


def test_up_streams_json_for_programs(noria: Commands) -> None:
    running = noria.start("up", "shop.py", "--json")
    running.says("Ctrl-C drains", error=True)
    id = enqueue(noria, "add", "a=1")
    record = json.loads(running.says(id))
    assert (record["task"], record["state"], record["attempt"]) == ("add", "succeeded", 1)
    assert all(json.loads(line) for line in running.out)


def test_up_warns_of_work_that_nobody_here_does(noria: Commands) -> None:
    enqueue(noria, "add", "a=1", "--queue", "elsewhere")
    running = up(noria, "shop.py")
    assert any("elsewhere" in line and "warning" in line for line in running.out)
