"""Worker processes on one store, and what can be done to them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from noria import ids
from noria.app.job import Draft
from noria.backends.contract import Parts
from noria.errors import BackendError
from noria.model.job import Record
from noria.testing.checker import Rules, Verdict, check, describe
from noria.testing.events import Fact, Fault, Opened, RunStart
from noria.testing.history import Under
from tests.faults.evidence import Evidence
from tests.faults.machine import Use, use_of
from tests.faults.shop import Shop

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-c", "from noria.cli.main import main; main()"]
STORM = os.environ.get("NORIA_STORM") == "1"
PATIENCE = 60.0
"""Seconds after which what has not happened will not happen."""
SLACK = 0.5
"""Seconds that a deadline gets beside what the kernel says that the process missed: the disk is shared too."""


async def until(
    look: Callable[[], T | Awaitable[T]], what: str | Callable[[], str], *, seconds: float = PATIENCE
) -> T:
    """Look again and again until there is something to see."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        value: T = await found if inspect.isawaitable(found) else found  # type: ignore[assignment]  # T is no awaitable
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        await asyncio.sleep(0.01)


class Process:
    """One worker process.

    Attributes:
        name: its name in the fleet; `proc` is that in the histories.
        born: the monotonic time at which it was started.
        use: what the kernel last said of it.
    """

    def __init__(
        self, fleet: Fleet, name: str, words: Sequence[str], environment: dict[str, str], log: int | None
    ) -> None:
        self._fleet = fleet
        self.name = name
        self.born = time.monotonic()
        self.path = fleet.folder / "logs" / f"{name}-{self.born:.6f}.log"
        with open(self.path, "wb") as own:
            self._popen = subprocess.Popen(
                [*PROGRAM, *words],
                cwd=fleet.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=own,
                stderr=own if log is None else log,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        self.proc = f"{name}-{self.pid}"
        self.use = Use(0.0, 0.0)
        self._pause: Under | None = None

    # -- what is done to it

    def kill(self) -> None:
        """SIGKILL, and wait until nothing is left of it."""
        with self._fleet.recorder.fault(f"kill {self.proc}", "kill", self.proc):
            self._popen.kill()
            self._popen.wait(10)

    def stop(self) -> None:
        """SIGSTOP: a fault until `go_on`. Not while it has the right to write into a file: nobody else could work."""
        self._pause = self._fleet.recorder.fault(f"pause {self.proc}", "pause", self.proc)
        self._pause.__enter__()
        os.kill(self.pid, signal.SIGSTOP)
        while not self._fleet.is_writable():
            os.kill(self.pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)
        if self._pause is not None:
            self._pause.__exit__()
            self._pause = None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still lives."""
        self._popen.send_signal(number)

    # -- what is seen of it

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._popen.poll()

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self.path.read_text(errors="replace")

    def told(self, kind: type[Fact]) -> int:
        """How many facts of a kind its history has."""
        path = self._fleet.folder / "history" / f"{self.proc}.jsonl"
        kind_in_json = f'"kind":"{kind.__struct_config__.tag}"'
        return path.read_bytes().count(kind_in_json.encode()) if path.exists() else 0

    async def says(self, text: str, *, seconds: float = PATIENCE) -> None:
        """Wait until its log has this text."""
        await until(lambda: text in self.log, lambda: f"no {text!r} in:\n{self.log}", seconds=seconds)

    async def works(self) -> None:
        """Wait until it has a session."""
        await until(lambda: self.told(Opened), lambda: f"{self.name} opens no session:\n{self.log}")

    async def runs(self, count: int = 1) -> None:
        """Wait until it has begun so many runs."""
        await until(
            lambda: self.told(RunStart) >= count or self.code is not None,
            lambda: f"{self.name} has begun {self.told(RunStart)} runs\n{self._fleet.logs()}",
        )
        assert self.code is None, f"{self.name} has ended with {self.code}\n{self.log}"

    async def ends(self, *, seconds: float = PATIENCE) -> int:
        """Wait for its end, with an eye on what it gets of the machine; the exit code."""
        await until(self._has_ended, lambda: f"{self.name} does not end:\n{self.log}", seconds=seconds)
        assert self.code is not None
        return self.code

    def _has_ended(self) -> bool:
        self.glance()
        return self.code is not None

    def glance(self) -> Use:
        """What the kernel says of it now; the last that it said, once it is gone."""
        self.use = max(self.use, use_of(self.pid))
        return self.use

    def close(self) -> None:
        """Be sure that it is gone."""
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait(10)


class Fleet:
    """A store, the processes that work on it, and this process as the producer of its jobs.

    Args:
        folder: empty, for everything that is written.
        runtime: a folder with a short path, for sockets and journals.
        url: of the store; a file in the folder unless it is given.
    """

    def __init__(self, folder: Path, runtime: Path, url: str = "") -> None:
        self.folder = folder
        self.runtime = runtime
        for name in ("history", "effects", "logs"):
            (folder / name).mkdir()
        self.store = folder / "shop.db"
        self.url = url or f"sqlite:///{self.store}"
        self.shop = Shop(self.url, folder, "test")
        self.recorder = self.shop.diary.recorder
        self.processes: list[Process] = []
        self.jobs: list[str] = []

    # -- processes

    def start(
        self,
        name: str = "worker",
        *flags: str,
        ttl: float = 2.0,
        beat: float = 0.5,
        program: Sequence[str] = ("worker", "tests.faults.application:app"),
        log: int | None = None,
        url: str = "",
        **fleet: object,
    ) -> Process:
        """Start `noria worker` on the store.

        Args:
            flags: of the command.
            ttl, beat: shorter than the defaults, unless a test is about these.
            log: a file descriptor to log to; a file of the fleet's unless it is given.
            url: of the store, if it has a way of its own there.
            fleet: what `shop_of` and `sabotage.prepare` look for, such as `dies="settling"`.
        """
        said = {"folder": self.folder, "name": name, "ttl": ttl, "beat": beat, **fleet}
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("NORIA_", "XDG_"))},
            "NORIA_URL": url or self.url,
            "NORIA_RUNTIME_DIR": str(self.runtime),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "PYTHONWARNINGS": "error",
            **{f"FLEET_{key.upper()}": str(value) for key, value in said.items()},
        }
        process = Process(self, name, [*program, *flags], environment, log)
        self.processes.append(process)
        return process

    def is_writable(self) -> bool:
        """Whether nobody keeps the right to write into the file, if the store is one."""
        if not self.store.exists():
            return True
        with contextlib.closing(sqlite3.connect(self.store, timeout=1.0, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            connection.execute("ROLLBACK")
            return True

    def journals(self) -> list[Path]:
        """The run journals on this host."""
        return list(self.runtime.glob("*/journals/*.run"))

    # -- jobs

    def job(self, task: str, *args: Any, **options: Any) -> Draft[Any]:
        """A job to enqueue."""
        found = self.shop.find_task(task)
        return (found.options(**options) if options else found).job(*args)

    async def enqueue(self, drafts: Iterable[Draft[Any]]) -> list[str]:
        """Enqueue jobs; their ids as histories have them."""
        jobs = await self.shop.enqueue_many(drafts)
        new = [job.id.replace("-", "") for job in jobs]
        self.jobs += new
        return new

    async def enqueue_at_last(self, drafts: Iterable[Draft[Any]], *, seconds: float = PATIENCE) -> list[str]:
        """Enqueue jobs, again and again while the store is away: with the same drafts, each is stored once."""
        same, deadline = list(drafts), time.monotonic() + seconds
        while True:
            try:
                return await self.enqueue(same)
            except BackendError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)

    async def put(self, task: str, *args: Any, **options: Any) -> str:
        """Enqueue one job; its id."""
        [id] = await self.enqueue([self.job(task, *args, **options)])
        return id

    async def record(self, id: str) -> Record:
        """A job as it is now."""
        [record] = await self.records([id])
        return record

    async def records(self, jobs: Sequence[str] | None = None) -> list[Record]:
        """Jobs as they are now, all unless some are named, with result and log."""
        wanted = [ids.from_text(id) for id in (self.jobs if jobs is None else jobs)]
        found = await self.shop.backend.get(wanted, Parts.RESULT | Parts.LOG)
        records = [record for record in found if record is not None]
        assert len(records) == len(wanted), f"{len(wanted) - len(records)} jobs have no record"
        return records

    async def ended(self, *, seconds: float = PATIENCE) -> list[Record]:
        """Wait until every job has ended."""
        await until(self.rests, lambda: f"there are live jobs\n{self.logs()}", seconds=seconds)
        return await self.records()

    async def rests(self) -> bool:
        """Whether every job has ended."""
        counts = await self.shop.backend.counts()
        states = [state for queue in counts.queues.values() for state, jobs in queue.states.items() if jobs]
        return all(state.final for state in states)

    # -- the end

    def evidence(self) -> Evidence:
        """What the files tell so far."""
        return Evidence(self.folder)

    async def judge(self, jobs: Sequence[str] | None = None, rules: Rules | None = None) -> Verdict:
        """The last look, and the checker's verdict, which must be without a finding."""
        backend: Any = self.shop.backend
        await backend.look([ids.from_text(id) for id in (self.jobs if jobs is None else jobs)])
        events = self.evidence().events
        verdict = check(events, rules)
        assert verdict.looked
        assert not verdict.findings, f"{describe(events, verdict)}\n{self.logs()}"
        return verdict

    def logs(self) -> str:
        """The ends of all logs, for people."""
        return "\n".join(f"--- {each.name} {each.code}\n{each.log[-2_000:]}" for each in self.processes)

    def kill_all(self) -> None:
        """SIGKILL all that live, at once, and wait until nothing is left of them."""
        alive = [each for each in self.processes if each.code is None]
        faults = [
            Fault(phase="begin", name=f"kill {each.proc}", what="kill", target=each.proc) for each in alive
        ]
        self.recorder.note(*faults)
        for each in alive:
            each.signal(signal.SIGKILL)
        for each in alive:
            each.close()
        ends = [Fault(phase="end", name=each.name, what="kill", target=each.target) for each in faults]
        self.recorder.note(*ends)

    def close(self) -> None:
        """Be sure that nothing is left of it."""
        for each in self.processes:
            each.close()
        self.shop.diary.close()
