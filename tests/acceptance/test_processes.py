"""Jobs of `executor="process"`: each in a process of its own, which is ended alone and takes nobody with it."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from noria import (
    ConfigError,
    InvalidArguments,
    JobCancelled,
    JobStatus,
    Noria,
    Worker,
)
from noria.clock import SystemClock
from noria.ids import IdSource
from noria.model.job import Lane, NewJob
from noria.worker import WorkerFault
from noria.worker.run import LAST_CHANCE
from tests.acceptance import apart
from tests.acceptance.apart import app
from tests.support.commands import Commands, commands

pytestmark = [pytest.mark.kill, pytest.mark.slow]

PATIENCE = 30.0


@pytest.fixture
def folder(tmp_path: Path, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NORIA_RUNTIME_DIR", str(short_tmp))
    monkeypatch.setattr(app, "url", f"sqlite:///{tmp_path}/test.db")
    return tmp_path


@asynccontextmanager
async def working(**settings: Any) -> AsyncIterator[Worker]:
    """A worker at work, drained in the end."""
    async with app, asyncio.TaskGroup() as group:
        worker = app.worker(**{"process_slots": 2, "grace": 5.0, **settings})
        running = group.create_task(worker.run())
        await asyncio.wait(
            [running, asyncio.ensure_future(worker.started.wait())], return_when="FIRST_COMPLETED"
        )
        try:
            yield worker
        finally:
            worker.drain(now=True)


async def until(seen: Callable[[], Any], what: str = "it did not happen") -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := seen()):
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.01)
    return found


def alive(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def told(path: Path) -> int:
    """The number that a job has written into a file; 0 before that."""
    return int(path.read_text() or 0) if path.exists() else 0


async def ended(job: Any) -> JobStatus:
    await asyncio.wait_for(asyncio.gather(job.result(), return_exceptions=True), PATIENCE)
    status: JobStatus = await job.status()
    return status


# ---- what a process job is


async def test_a_job_runs_in_a_warm_process_that_is_not_the_workers(folder: Path) -> None:
    async with working():
        first = await (await apart.whoami.enqueue()).result(PATIENCE)
        second = await (await apart.whoami.enqueue()).result(PATIENCE)
        assert first == second != os.getpid()
        assert await (await apart.on_loop.enqueue()).result(PATIENCE) == os.getpid()
    assert not alive(first), "it ends with its worker"


async def test_the_context_tells_of_the_job(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with working():
        job = await apart.about.options(tags=("a", "b"), attempts=3).enqueue()
        assert await job.result(PATIENCE) == {
            "id": job.id,
            "attempt": 1,
            "attempts": 3,
            "starts": 1,
            "tags": ["a", "b"],
            "stopping": False,
            "group": True,
        }
        assert f"at work on {job.id}" in caplog.text, "its log is the worker's"
        status = await ended(await apart.state.enqueue())
        assert status.error is not None
        assert "ctx.state belongs to the worker's own process" in status.error.message


@pytest.mark.parametrize(
    ("how", "outcomes", "reason", "words"),
    [
        ("error", ["failed", "failed"], "exception", "bad error"),
        ("never", ["failed"], "exception", "k"),
        ("retry", ["failed", "failed"], "retry", "again"),
        ("cancel", ["cancelled"], "cancelled", "no need"),
        ("fail", ["failed"], "fail", "hopeless"),
        ("exit", ["failed", "failed"], "exception", "3"),
        ("object", ["failed"], "result", "object"),
        ("large", ["failed"], "result", "result of task 'end'"),
    ],
)
async def test_what_a_handler_raises_means_what_it_means_elsewhere(
    folder: Path, how: str, outcomes: list[str], reason: str, words: str
) -> None:
    async with working():
        before = await (await apart.whoami.enqueue()).result(PATIENCE)
        status = await ended(await apart.end.enqueue(how))
        assert [start.outcome for start in status.log] == outcomes
        assert status.error is not None
        assert status.error.reason == reason
        assert words in status.error.message
        assert await (await apart.whoami.enqueue()).result(PATIENCE) == before, "its process goes on"


async def test_dependencies_and_middleware_are_in_the_process_of_the_job(folder: Path) -> None:
    async with working(process_slots=1):
        pid = await (await apart.whoami.enqueue()).result(PATIENCE)
        word, db, wanted, *seen = await (await apart.served.enqueue("a")).result(PATIENCE)
        assert (word, db) == ("a", wanted)
        assert seen[-1] == f"served in {pid}"
        again = await (await apart.served.enqueue("b")).result(PATIENCE)
        assert again[1] == db, "of scope app there is one for each process"
    assert not apart.opened, "and none in the worker"


async def test_overrides_do_not_reach_processes(folder: Path) -> None:
    async with app:
        with pytest.raises(ConfigError, match="overrides do not reach"):
            app.worker(overrides={apart.connection: lambda: "other"})


async def test_a_traceback_begins_in_the_users_code(folder: Path) -> None:
    async with working():
        status = await ended(await apart.end.enqueue("error"))
        assert status.error is not None
        assert "apart.py" in status.error.traceback
        frames = [line for line in status.error.traceback.splitlines() if line.startswith("  File")]
        assert "apart.py" in frames[0]


async def test_a_snoozed_job_is_scheduled(folder: Path) -> None:
    async with working():
        job = await apart.end.enqueue("snooze")
        deadline = time.monotonic() + PATIENCE
        while (status := await job.status()).state != "scheduled":
            assert time.monotonic() < deadline, status
            await asyncio.sleep(0.02)
        assert [start.outcome for start in status.log] == ["snoozed"]


async def test_arguments_that_do_not_fit_fail_the_job_and_nothing_else(folder: Path) -> None:
    async with working():
        id = IdSource(SystemClock()).next()
        job = NewJob(id=id, task="end", queue="default", body=b'{"how":7}', lane=Lane.PROCESS)
        await app.backend.push([job])
        status = await ended(app.job(job.id.hex()))
        assert status.error is not None
        assert (status.state, status.error.reason) == ("failed", "arguments")
    with pytest.raises(InvalidArguments):
        apart.end.job(7)  # type: ignore[arg-type]  # the point of this test


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_w17_a_process_inherits_no_open_store_and_no_socket_but_its_own(folder: Path) -> None:
    async with working():
        seen = await (await apart.descriptors.enqueue()).result(PATIENCE)
        assert not [each for each in seen if "test.db" in each or "journal" in each]
        standard = {os.readlink(f"/proc/self/fd/{each}") for each in (0, 1, 2)}
        ours = {os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
        sockets = {each for each in seen if each.startswith("socket:")} - standard
        assert sockets
        assert not sockets & ours, "its end of the line is its own, and it has no other"


# ---- one dies, the others do not notice


async def test_w10_a_process_killed_alone_is_replaced_and_its_neighbour_never_sees_it(folder: Path) -> None:
    async with working():
        neighbour = await apart.wait.enqueue(str(folder), "neighbour")
        victim = await apart.wait.enqueue(str(folder), "victim")
        pid = await until(lambda: told(folder / "victim.begun"))
        beside = await until(lambda: told(folder / "neighbour.begun"))
        (folder / "victim.begun").unlink()
        os.kill(pid, signal.SIGKILL)
        again = await until(lambda: told(folder / "victim.begun"), "it did not run again")
        assert again not in (pid, beside)
        for gate in ("neighbour", "victim"):
            (folder / gate).touch()
        assert await neighbour.result(PATIENCE) == beside
        assert await victim.result(PATIENCE) == again
        status = await victim.status()
        assert [start.outcome for start in status.log] == ["crashed", "succeeded"]
        assert (status.attempt, status.crashes) == (1, 1), "a crash spends crash budget, no attempt"
        assert [start.outcome for start in (await neighbour.status()).log] == ["succeeded"]


async def test_a_new_process_begins_where_the_worker_did_whatever_folder_a_job_has_gone_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative name of the store, or of anything else, means the same in all of them."""
    began = Path.cwd()
    async with working(process_slots=1):
        assert await (await apart.where.enqueue()).result(PATIENCE) == str(began)
        first = await (await apart.whoami.enqueue()).result(PATIENCE)
        monkeypatch.chdir(folder)
        os.kill(first, signal.SIGKILL)

        assert await (await apart.where.enqueue()).result(PATIENCE) == str(began)


@pytest.mark.parametrize(
    ("code", "words"),
    [(7, "ended with exit code 7"), (0, "ended with exit code 0"), (-signal.SIGSEGV, "was ended by SIGSEGV")],
)
async def test_w10_at_its_crash_budget_a_job_fails_with_the_evidence(
    folder: Path, code: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with working():
        status = await ended(await apart.die.enqueue(code))
        told = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        crashes = [each for each in told if each.startswith(f"die {status.id} crashed: process ")]
        assert len(crashes) == 2, "the first crash is told as loudly as the last"
        assert all(words in each for each in crashes)
        assert (status.state, status.crashes) == ("failed", 2)
        assert status.error is not None
        assert status.error.reason == "crash"
        assert words in status.error.message
        assert "MiB" in status.error.message
        assert await (await apart.whoami.enqueue()).result(PATIENCE)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("closes all", "its handler has closed files that were not its own"),
        ("closes all and opens others", "its handler has closed files that were not its own"),
        ("becomes another program", "was killed, since it has closed its line to the worker"),
    ],
)
async def test_a_handler_that_closes_its_line_to_the_worker_has_crashed(
    folder: Path, how: str, words: str
) -> None:
    async with working(process_slots=1):
        before = await (await apart.whoami.enqueue()).result(PATIENCE)
        status = await ended(await apart.close_all.enqueue(how))
        assert status.error is not None
        assert (status.state, status.crashes, status.error.reason) == ("failed", 1, "crash")
        assert words in status.error.message
        assert await (await apart.whoami.enqueue()).result(PATIENCE) != before, "its slot is free again"
    assert not alive(before)


async def test_a_fork_that_comes_back_from_its_handler_ends_and_tells_nothing(folder: Path) -> None:
    async with working(process_slots=1):
        before = await (await apart.whoami.enqueue()).result(PATIENCE)
        forked = await (await apart.fork.enqueue()).result(PATIENCE)
        await until(lambda: not alive(forked))
        after = await apart.whoami.enqueue()
        assert await after.result(PATIENCE) == before
        assert (await after.status()).starts == 1, "the next job notices nothing"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_w10_a_job_that_runs_out_of_memory_is_told_of_and_its_process_replaced(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with working(process_slots=1):
        before = await (await apart.whoami.enqueue()).result(PATIENCE)
        status = await ended(await apart.starve.enqueue())
        assert [start.outcome for start in status.log] == ["failed", "failed"], "attempts count, and end"
        assert status.error is not None
        assert status.error.type == "MemoryError"
        told = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        short = [each for each in told if f"too little memory for starve {status.id}" in each]
        assert len(short) == 2
        assert str(before) in short[0]
        after = await (await apart.whoami.enqueue()).result(PATIENCE)
        assert str(after) not in " ".join(short), "who was short of memory runs nothing more"


async def test_a_job_that_is_ended_on_purpose_is_not_called_a_crash(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with working():
        await ended(await apart.stubborn.options(timeout=0.3).enqueue(str(folder)))
    assert "crashed" not in caplog.text


async def test_a_crashed_job_runs_again_at_once(folder: Path) -> None:
    async with working():
        await (await apart.whoami.enqueue()).result(PATIENCE)
        job = await apart.once.enqueue(str(folder))
        assert await job.result(PATIENCE)
        assert (await job.status()).crashes == 1


# ---- told to end


async def test_a_handler_that_cannot_notice_is_killed_at_its_time_limit(folder: Path) -> None:
    async with working():
        began = time.monotonic()
        status = await ended(await apart.wait.options(timeout=0.3, attempts=1).enqueue(str(folder), "never"))
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert time.monotonic() - began < LAST_CHANCE + 10
        pid = told(folder / "never.begun")
        await until(lambda: not alive(pid))


async def test_a_handler_that_looks_gets_a_last_chance(folder: Path) -> None:
    async with working():
        status = await ended(await apart.polite.options(timeout=0.3).enqueue(str(folder)))
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert (folder / "cleaned").exists()
        assert alive(told(folder / "begun")), "its process is not to blame"


async def test_w14_a_handler_that_ignores_its_end_is_killed(folder: Path) -> None:
    async with working(process_slots=1):
        status = await ended(await apart.stubborn.options(timeout=0.3).enqueue(str(folder)))
        assert [start.outcome for start in status.log] == ["timed_out"]
        assert not alive(told(folder / "begun")), "never two in one slot"


async def test_a_running_job_is_cancelled_and_its_neighbour_goes_on(folder: Path) -> None:
    async with working():
        neighbour = await apart.wait.enqueue(str(folder), "neighbour")
        job = await apart.stubborn.enqueue(str(folder))
        await until(lambda: told(folder / "begun"))
        await until(lambda: told(folder / "neighbour.begun"))
        await job.cancel()
        with pytest.raises(JobCancelled):
            await job.result(PATIENCE)
        (folder / "neighbour").touch()
        assert await neighbour.result(PATIENCE) == told(folder / "neighbour.begun")


async def test_w15_what_a_handler_has_started_ends_with_it_and_the_log_says_so(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with working():
        status = await ended(await apart.parent.enqueue(str(folder)))
        assert f"parent {status.id} in process" in caplog.text
        assert "had started 1 other process, ended with it" in caplog.text
        assert [start.outcome for start in status.log] == ["timed_out"]
        grandchild = told(folder / "child")
        await until(lambda: not alive(grandchild), "it outlives its parent")


async def test_a_drain_hands_the_job_back_and_ends_its_process(folder: Path) -> None:
    async with app:
        async with working(grace=1.0) as worker:
            job = await apart.stubborn.enqueue(str(folder))
            pid = await until(lambda: told(folder / "begun"))
            worker.drain()
        status = await job.status()
        assert (status.state, status.attempt, status.crashes) == ("queued", 1, 0)
        assert {start.outcome for start in status.log} == {"released"}
    assert not alive(pid)


# ---- replaced when worn


async def test_a_process_is_replaced_after_its_number_of_jobs(folder: Path) -> None:
    async with working(process_slots=1, process_job_limit=2):
        pids = [await (await apart.whoami.enqueue()).result(PATIENCE) for _ in range(5)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [2, 2, 1]


async def test_a_process_that_holds_too_much_memory_is_replaced_after_its_job(folder: Path) -> None:
    async with working(process_slots=1, process_memory_limit=200 * 2**20):
        light = await (await apart.hoard.enqueue(1)).result(PATIENCE)
        heavy = await (await apart.hoard.enqueue(250 * 2**20)).result(PATIENCE)
        after = await (await apart.whoami.enqueue()).result(PATIENCE)
    assert light == heavy != after


# ---- starting


async def test_r3_without_descriptors_a_process_waits_for_some(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with working():
        busy = await apart.wait.enqueue(str(folder), "busy")
        await until(lambda: told(folder / "busy.begun"))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = max(map(int, os.listdir("/proc/self/fd")))
        holes = [os.dup(0) for _ in range(highest + 1 - len(os.listdir("/proc/self/fd")))]
        resource.setrlimit(resource.RLIMIT_NOFILE, (max([highest, *holes]) + 1, limits[1]))
        try:
            second = await apart.whoami.enqueue()
            await until(lambda: "cannot be started" in caplog.text)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for each in holes:
                os.close(each)
        assert await second.result(PATIENCE)
        assert (await second.status()).starts == 1, "it waited where it was"
        (folder / "busy").touch()
        await busy.result(PATIENCE)


async def test_an_application_without_a_name_is_refused_at_the_start(folder: Path) -> None:
    local = Noria(f"sqlite:///{folder}/test.db")

    @local.task(executor="process")
    def work() -> None: ...

    async with local:
        with pytest.raises(ConfigError, match="assign it to a name at the top of a module"):
            local.worker()


async def test_an_application_that_processes_cannot_import_is_refused_at_the_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", ".", os.getcwd())])
    monkeypatch.chdir(folder)
    async with app:
        with pytest.raises(ConfigError, match=r"cannot work:.*tests"):
            await app.worker(process_slots=1).run()


async def test_an_application_that_was_typed_in_is_refused_at_the_start(noria: Commands) -> None:
    text = """
import asyncio
from noria import ConfigError, Noria
app = Noria()
@app.task(executor="process")
def work() -> None: ...
async def main():
    async with app:
        try:
            app.worker()
        except ConfigError as error:
            print(error)
asyncio.run(main())
"""
    command = [sys.executable, "-c", text]
    environment = {**os.environ, **noria.environment}
    done = subprocess.run(
        command, cwd=noria.folder, env=environment, capture_output=True, text=True, check=False, timeout=30
    )
    assert "no module has this one" in done.stdout, done.stderr


SCRIPT = """
import asyncio, os
from noria import Noria

app = Noria()

@app.task(executor="process")
def work() -> int:
    return os.getpid()

async def main() -> None:
    async with app:
        job = await work.enqueue()
        await app.worker(burst=True, process_slots=1).run()
        print(await job != os.getpid())

if __name__ == "__main__":
    asyncio.run(main())
"""


def run_script(noria: Commands, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of the user's, to its end."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=noria.folder,
        env={**os.environ, **noria.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


async def test_a_script_may_start_its_own_worker(noria: Commands) -> None:
    noria.write("script.py", SCRIPT)
    for words in (["script.py"], ["-m", "script"]):
        done = run_script(noria, *words)
        assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


async def test_a_script_that_forgets_its_guard_is_told_so_and_starts_no_worker_inside_a_process(
    noria: Commands,
) -> None:
    noria.write("script.py", SCRIPT.replace('if __name__ == "__main__":\n    ', ""))
    done = run_script(noria, "script.py")
    assert done.returncode == 1
    assert "cannot work: " in done.stderr
    assert "that opens the application; keep what a program runs behind" in done.stderr
    noria.write("script.py", SCRIPT)
    assert len(noria.json("jobs", "list", "--app", "script.py")) == 1, "the process has enqueued nothing"


async def test_a_job_in_a_process_makes_no_worker(folder: Path) -> None:
    async with working(process_slots=1):
        status = await ended(await apart.nest.enqueue())
    assert status.error is not None
    assert "runs jobs for a worker, and cannot be a worker as well" in status.error.message


FILE = """
import ctypes, os, pathlib, subprocess, time, warnings
from noria import Noria

app = Noria()
here = pathlib.Path(__file__).parent

@app.task(executor="process")
def work(seconds: float) -> int:
    (here / "begun").write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()

@app.task(executor="process")
def leave(handler: str) -> None:
    (here / "child").write_text(str(subprocess.Popen(["sleep", "600"]).pid))
    (here / "begun").write_text(str(os.getpid()))
    # With PyDLL, the interpreter lock is kept.
    (ctypes.PyDLL(None) if handler == "hold" else time).sleep(600)

@app.task
def fork() -> None:
    warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
    forked = os.fork()
    if not forked:
        time.sleep(600)
    (here / "forked").write_text(str(forked))
"""


@pytest.fixture
def noria(tmp_path: Path, short_tmp: Path) -> Any:
    for made in commands(tmp_path, short_tmp):
        made.write("file.py", FILE)
        made.environment["NORIA_APP"] = "file.py"
        yield made


async def test_processes_import_an_application_that_is_a_file(noria: Commands) -> None:
    assert noria.run("enqueue", "work", "seconds=0").returncode == 0
    worker = noria.start("worker", "--burst", "--process-slots", "1")
    assert worker.ends() == 0
    [job] = noria.json("jobs", "list")
    assert job["state"] == "succeeded"


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param("sleep", id="that sleeps"),
        pytest.param(
            "hold",
            id="that holds the interpreter lock",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills it then"),
        ),
    ],
)
async def test_w15_processes_and_what_they_started_die_with_a_worker_that_is_killed(
    noria: Commands, handler: str
) -> None:
    assert noria.run("enqueue", "leave", f"handler={handler}").returncode == 0
    worker = noria.start("worker", "--process-slots", "1")
    pids = [await until(lambda name=name: told(noria.folder / name)) for name in ("begun", "child")]
    assert all(map(alive, pids))
    worker.signal(signal.SIGKILL)
    await until(lambda: not any(map(alive, pids)), "an orphan goes on")


async def test_w15_what_a_worker_forks_does_not_keep_its_processes_alive(noria: Commands) -> None:
    assert noria.run("enqueue", "leave", "handler=sleep").returncode == 0
    worker = noria.start("worker", "--process-slots", "1")
    pid = await until(lambda: told(noria.folder / "begun"))
    assert noria.run("enqueue", "fork").returncode == 0
    forked = await until(lambda: told(noria.folder / "forked"))
    try:
        worker.signal(signal.SIGKILL)
        await until(lambda: not alive(pid), "an orphan goes on")
        assert alive(forked)
    finally:
        os.kill(forked, signal.SIGKILL)


async def test_w16_a_bug_in_the_pool_ends_the_worker_loudly(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    async with app:
        worker = app.worker(process_slots=1)
        running = asyncio.ensure_future(worker.run())
        await worker.started.wait()
        monkeypatch.setattr(worker._processes, "_worn", broken)
        await apart.whoami.enqueue()
        with pytest.raises(WorkerFault, match="a bug"):
            await asyncio.wait_for(running, PATIENCE)
