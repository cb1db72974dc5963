"""`--processes` and `--reload` as people use them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import PROGRAM, Commands, commands, until

pytestmark = [pytest.mark.kill, pytest.mark.slow]

APP = """
import asyncio, os, pathlib, subprocess, sys
from noria import Noria

app = Noria()
here = pathlib.Path(__file__).parent

@app.task
async def say(word: str) -> str:
    return "VERSION " + word

@app.task
async def whose() -> int:
    return os.getpid()

@app.task
async def hold() -> str:
    (here / "holding").touch()
    while not (here / "gate").exists():
        await asyncio.sleep(0.01)
    return "VERSION"

@app.task
async def environment() -> list[str]:
    return [name for name in os.environ if name in ("NORIA_TETHER", "NORIA_CHILD")]

@app.task
async def keys() -> list[str]:
    return [name for name in os.environ if name.endswith("_KEY")]

@app.task(executor="process")
def keys_apart() -> list[str]:
    return [name for name in os.environ if name.endswith("_KEY")]

def held(text: str) -> bool:
    return text.encode() in pathlib.Path("/proc/self/environ").read_bytes()

@app.task
async def was_given(text: str) -> bool:
    return held(text)

@app.task(executor="process")
def was_given_apart(text: str) -> bool:
    return held(text)

@app.task
async def leave_program() -> int:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (here / "child").write_text(str(child.pid))
    os._exit(1)
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Iterator[Commands]:
    for made in commands(tmp_path, short_tmp):
        made.write("shop.py", APP.replace("VERSION", "old"))
        made.environment["NORIA_APP"] = "shop.py"
        yield made


def enqueue(noria: Commands, *words: str) -> str:
    done = noria.run("enqueue", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def call(noria: Commands, *words: str) -> str:
    done = noria.run("enqueue", *words, "--wait", "20")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_burst_of_several_processes_ends_when_there_is_nothing_to_do(noria: Commands) -> None:
    ids = [enqueue(noria, "say", f"word={n}") for n in range(4)]
    worker = noria.start("worker", "--processes", "2", "--burst")
    assert worker.ends() == 0
    assert {job["state"] for job in noria.json("jobs", "list")} == {"succeeded"}
    assert len(ids) == 4


def test_l10_an_application_that_cannot_be_imported_ends_it_with_its_traceback(noria: Commands) -> None:
    noria.write("shop.py", "import no_such_module")
    done = noria.run("worker", "--processes", "2")
    assert done.returncode == 2
    assert "No module named 'no_such_module'" in done.stderr
    assert "cannot start, so nothing runs" in done.stderr


@pytest.mark.parametrize("command", [("worker",), ("up", "--port", "0")])
def test_l8_processes_that_are_there_before_their_store_wait_for_it(
    noria: Commands, command: tuple[str, ...]
) -> None:
    noria.environment["NORIA_URL"] = "sqlite:///later/test.db"
    running = noria.start(*command, "--processes", "1")
    running.says("later/test.db, does not exist: create it", error=True)
    running.says("it is started again in", error=True)  # the second time, after a pause
    assert not any("slots" in line for line in running.err + running.out), "it does not say that it works"
    (noria.folder / "later").mkdir()
    until(lambda: call(noria, "say", "word=x") == "old x")
    running.signal(signal.SIGTERM)
    assert running.ends() == 0


def test_l8_a_single_worker_before_its_store_ends_with_3_for_whoever_starts_it_again(noria: Commands) -> None:
    done = noria.run("worker", "--url", "sqlite:///later/test.db")
    assert done.returncode == 3, done.stderr


def test_wrong_use_is_said_before_anything_starts(noria: Commands) -> None:
    assert noria.run("worker", "--processes", "0").returncode == 2
    done = noria.run("worker", "--processes", "2", "--threads", "-1")
    assert done.returncode == 2
    assert "worker 1" not in done.stderr


def test_handlers_do_not_see_the_line_to_the_supervisor(noria: Commands) -> None:
    noria.start("worker", "--processes", "1")
    assert call(noria, "environment") == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ("worker",),
        ("worker", "--processes", "1"),
        ("up", "--port", "0"),
        ("up", "--port", "0", "--processes", "1"),
    ],
)
def test_s23_handlers_do_not_see_the_key_of_the_front(noria: Commands, words: tuple[str, ...]) -> None:
    running = noria.start(*words, NORIA_API_KEY="k" * 24, NORIA_KEY_FILE="front.key", SHOP_KEY="theirs")
    assert call(noria, "keys") == '["SHOP_KEY"]'
    assert call(noria, "keys_apart") == '["SHOP_KEY"]', "nor do processes of jobs"
    if words[0] == "up":
        assert "with a key" in running.says("  api ")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("words", [("worker", "--processes", "1"), ("up", "--port", "0", "--processes", "1")])
def test_s23_the_key_of_the_front_was_never_given_to_a_supervised_worker(
    noria: Commands, words: tuple[str, ...]
) -> None:
    noria.start(*words, NORIA_API_KEY="k" * 24, SHOP_KEY="theirs")
    for task in ("was_given", "was_given_apart"):
        assert call(noria, task, f"text={'k' * 24}") == "false"
        assert call(noria, task, "text=SHOP_KEY=theirs") == "true", "what is the deployment's own arrives"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_w15_what_a_worker_has_started_ends_with_it_and_is_told_of(noria: Commands) -> None:
    worker = noria.start("worker", "--processes", "1")
    enqueue(noria, "leave_program")
    pid = int(until(lambda: (noria.folder / "child").exists() and (noria.folder / "child").read_text()))
    worker.says("other processes, which are ended with it", error=True)
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())


def test_a_reload_takes_the_new_code_and_loses_no_running_job(noria: Commands) -> None:
    up = noria.start("up", "--reload")
    until(lambda: call(noria, "say", "word=x") == "old x")
    slow = enqueue(noria, "hold")
    until((noria.folder / "holding").exists)
    noria.write("shop.py", APP.replace("VERSION", "new"))
    until(lambda: call(noria, "say", "word=x") == "new x", what="the new code does not run")
    [job] = noria.json("jobs", "show", slow)
    assert (job["state"], job["starts"]) == ("running", 1), "the old process finishes what it has begun"
    (noria.folder / "gate").touch()
    until(lambda: noria.json("jobs", "show", slow)[0]["state"] == "succeeded")
    assert noria.json("jobs", "show", slow)[0]["starts"] == 1
    up.signal(signal.SIGINT)
    assert up.ends() == 0


def test_a_reload_waits_while_the_code_is_broken(noria: Commands) -> None:
    up = noria.start("up", "--reload")
    until(lambda: call(noria, "say", "word=x") == "old x")
    noria.write("shop.py", "def (:")
    up.says("it is tried again when a file has changed", error=True)
    until(lambda: any("SyntaxError" in line for line in up.err), what="nobody is told what is wrong")
    noria.write("shop.py", APP.replace("VERSION", "new"))
    until(lambda: call(noria, "say", "word=x") == "new x", what="the new code does not run")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_code_that_is_broken_from_the_start_is_told_and_waited_for(noria: Commands) -> None:
    noria.write("shop.py", "import no_such_module")
    up = noria.start("up", "--reload")
    up.says("No module named 'no_such_module'", error=True)
    up.says("it is tried again when a file has changed", error=True)
    noria.write("shop.py", APP.replace("VERSION", "new"))
    until(lambda: call(noria, "say", "word=x") == "new x", what="the new code does not run")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


@pytest.mark.parametrize(("words", "reloads"), [((), True), (("--no-reload",), False)])
def test_at_a_terminal_up_reloads_unless_it_is_told_not_to(
    noria: Commands, words: tuple[str, ...], reloads: bool
) -> None:
    terminal, theirs = os.openpty()
    command = [*PROGRAM, "up", "--no-front", *words]
    with subprocess.Popen(command, cwd=noria.folder, env=noria.environment, stdout=theirs) as up:
        try:
            pid = int(call(noria, "whose"))
            assert (pid != up.pid) == reloads, "what reloads is a process of its own"
            if reloads:
                noria.write("shop.py", APP.replace("VERSION", "new"))
                until(lambda: call(noria, "say", "word=x") == "new x", what="the new code does not run")
        finally:
            up.terminate()
            assert up.wait(30) == 0
            os.close(terminal)
            os.close(theirs)


def test_up_greets_once_however_many_processes(noria: Commands) -> None:
    up = noria.start("up", "--processes", "2")
    until(lambda: call(noria, "say", "word=x") == "old x")
    up.says("Ctrl-C drains")
    up.signal(signal.SIGINT)
    assert up.ends() == 0
    assert sum("Ctrl-C drains" in line for line in up.out) == 1


def test_python_m_noria_is_the_command_line(noria: Commands) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noria", "version"],
        cwd=noria.folder,
        env={**os.environ, **noria.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("noria ")
