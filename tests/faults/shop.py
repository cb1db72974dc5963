"""The application of the fault tests: real tasks, and every process writes down what it does.

Calls of the backend and the runs of handlers go to the history of the process (`noria.testing.history`). What a
handler does, its effect, goes to a file of its own, in one write and through none of Noria's code: evidence that a
mistake of ours cannot bend.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import shlex
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noria import Context, Noria
from noria.backends.contract import Backend, Batch, Orders, Verdict, Vitals, Want
from noria.ids import SessionId
from noria.model.job import Lease
from noria.model.settlement import Settlement
from noria.testing.events import Fault, RunEnd, RunStart
from noria.testing.history import Recorder
from noria.testing.recording import RecordingBackend

PATIENCE = ("ttl", "beat", "poll", "blocked_after")
"""Settings of a worker that have no flag; a test gives them as `FLEET_TTL` and so on."""
_KEPT: list[bytes] = []


class Diary:
    """What the handlers of one process tell.

    Args:
        folder: of the fleet.
        name: of the process.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.recorder = Recorder(folder / "history", name)
        path = folder / "effects" / f"{self.recorder.proc}.txt"
        self._effects = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._holders: dict[tuple[str, int], SessionId] = {}

    def held(self, session: SessionId, leases: Collection[Lease]) -> None:
        """Remember whose each start is: a handler is not told its session."""
        self._holders.update({(lease.id.hex(), lease.starts): session for lease in leases})

    @contextmanager
    def run(self, ctx: Context) -> Iterator[None]:
        """The time in which a handler works; left without an error, the job has had its effect."""
        id, starts = ctx.job_id.replace("-", ""), ctx.starts
        session = self._holders[id, starts]
        self.recorder.note(RunStart(id=id, session=session, starts=starts, attempt=ctx.attempt))
        try:
            yield
        except BaseException as error:
            outcome = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            self.recorder.note(RunEnd(id=id, session=session, starts=starts, outcome=outcome))
            raise
        line = f"{time.monotonic()!r} {time.time()!r} {id} {session} {starts}\n"
        os.write(self._effects, line.encode())
        self.recorder.note(RunEnd(id=id, session=session, starts=starts, outcome="succeeded"))

    def die(self, what: str, how: Callable[[], object]) -> None:
        """End this process, and tell before why."""
        proc = self.recorder.proc
        self.recorder.note(Fault(phase="begin", name=f"{what} {proc}", what="kill", target=proc))
        how()

    def close(self) -> None:
        """Close the files."""
        self.recorder.close()
        os.close(self._effects)


class Mortal:
    """A backend at whose calls the process dies, or answers come late, if the test has said so.

    Args:
        dies: "leased", "settling" or "settled": after a lease that found jobs, before a settle, after it.
    """

    def __init__(self, inner: Backend, diary: Diary, dies: str) -> None:
        self._inner = inner
        self._diary = diary
        self._dies = dies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        batch = await self._inner.lease(session, wants, limit, wait)
        if batch.leases:
            self._reached("leased")
        return batch

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        self._reached("settling")
        verdicts = await self._inner.settle(session, ends)
        self._reached("settled")
        return verdicts

    async def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        orders = await self._inner.renew(session, vitals)
        while (self._diary.folder / "late-renewals").exists():
            await asyncio.sleep(0.01)
        return orders

    def _reached(self, point: str) -> None:
        if self._dies == point:
            self._diary.die(point, lambda: os.kill(os.getpid(), signal.SIGKILL))


class Witness(RecordingBackend):
    """Records all calls, and tells the diary who holds what."""

    def __init__(self, inner: Backend, diary: Diary) -> None:
        super().__init__(inner, diary.recorder)
        self._diary = diary

    async def lease(self, session: SessionId, wants: Sequence[Want], limit: int, wait: float) -> Batch:
        batch = await super().lease(session, wants, limit, wait)
        self._diary.held(session, batch.leases)
        return batch


class Shop(Noria):
    """The application, as one process of a fleet has it.

    Args:
        folder: of the fleet.
        name: of the process.
        dies: as in `Mortal`.
        patience: settings for its worker that have no flag.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        name: str,
        *,
        dies: str = "",
        patience: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(url)
        self.diary = Diary(folder, name)
        self._dies = dies
        self._patience = dict(patience or {})
        declare(self, self.diary)

    def _connect(self) -> Backend:
        mortal: Any = Mortal(super()._connect(), self.diary, self._dies)
        return Witness(mortal, self.diary)

    def worker(self, **settings: Any) -> Any:
        return super().worker(**{**settings, **self._patience})


def shop_of(environment: Mapping[str, str]) -> Shop:
    """The application of a process that a fleet has started."""
    patience = {
        name: float(environment[key]) for name in PATIENCE if (key := f"FLEET_{name.upper()}") in environment
    }
    return Shop(
        environment["NORIA_URL"],
        Path(environment["FLEET_FOLDER"]),
        environment["FLEET_NAME"],
        dies=environment.get("FLEET_DIES", ""),
        patience=patience,
    )


def declare(app: Noria, diary: Diary) -> None:
    """Declare all tasks."""
    _plain(app, diary)
    _gated(app, diary)
    _on_first_start(app, diary)
    _harmful(app, diary)


def _plain(app: Noria, diary: Diary) -> None:
    @app.task(crashes=20)
    async def quick(ctx: Context, n: int) -> int:
        with diary.run(ctx):
            return n

    @app.task(crashes=20)
    async def slow(ctx: Context, n: int, seconds: float) -> int:
        with diary.run(ctx):
            await asyncio.sleep(seconds)
            return n

    @app.task(crashes=20)
    def grind(ctx: Context, n: int, seconds: float) -> int:
        with diary.run(ctx):
            time.sleep(seconds)
            return n

    @app.task
    async def neighbour(ctx: Context, seconds: float) -> int:
        with diary.run(ctx):
            await asyncio.sleep(seconds)
            return ctx.starts

    @app.task
    async def spread(ctx: Context, n: int) -> int:
        """Enqueues jobs while it runs."""
        with diary.run(ctx):
            for each in range(n):
                await app.find_task("quick").enqueue(each)
            return n


def _gated(app: Noria, diary: Diary) -> None:
    @app.task(crashes=20)
    async def wait(ctx: Context, gate: str) -> int:
        """Goes on until a file is there."""
        with diary.run(ctx):
            while not (diary.folder / gate).exists():
                await asyncio.sleep(0.01)
            return ctx.starts

    @app.task(crashes=20)
    def watch(ctx: Context, gate: str) -> int:
        """The same in a thread, which looks whether it should end."""
        with diary.run(ctx):
            while not (diary.folder / gate).exists():
                ctx.check()
                time.sleep(0.01)
            return ctx.starts


def _on_first_start(app: Noria, diary: Diary) -> None:
    @app.task
    async def lag(ctx: Context, seconds: float) -> int:
        """Takes its time when it is started first, and none later."""
        with diary.run(ctx):
            if ctx.starts == 1:
                await asyncio.sleep(seconds)
            return ctx.starts

    @app.task
    async def stun(ctx: Context, gate: str) -> int:
        """Stays in C without releasing the interpreter lock until the gate opens, when it is started first."""
        with diary.run(ctx):
            if ctx.starts == 1:
                await asyncio.sleep(0.2)  # the leases that are under way want the store, and then rest
                path = shlex.quote(str(diary.folder / gate))
                ctypes.PyDLL(None).system(
                    f"for _ in $(seq 600); do [ -e {path} ] && exit; sleep 0.1; done".encode()
                )
            return ctx.starts


def _harmful(app: Noria, diary: Diary) -> None:
    @app.task
    async def block(ctx: Context, seconds: float) -> int:
        """Blocks the event loop."""
        with diary.run(ctx):
            time.sleep(seconds)
            return ctx.starts

    @app.task
    def snore(ctx: Context, seconds: float) -> int:
        """Keeps its thread, whatever the worker says."""
        with diary.run(ctx):
            time.sleep(seconds)
            return ctx.starts

    @app.task
    async def swell(ctx: Context, megabytes: int) -> int:
        """Keeps memory for good."""
        with diary.run(ctx):
            _KEPT.append(b"x" * (megabytes * 2**20))
            return ctx.starts

    @app.task
    async def churn(ctx: Context, seconds: float) -> int:
        """Keeps the event loop busy with turns of 0.2 ms."""
        with diary.run(ctx):
            end = time.monotonic() + seconds
            while (now := time.monotonic()) < end:
                while time.monotonic() < now + 0.0002:
                    pass
                await asyncio.sleep(0)
            return ctx.starts

    @app.task
    async def poison(ctx: Context, seconds: float) -> None:
        """Ends its process."""
        with diary.run(ctx):
            await asyncio.sleep(seconds)
            diary.die("poison", lambda: os._exit(1))

    @app.task
    async def parting(ctx: Context, seconds: float) -> None:
        """Returns, and ends its process just after, before anybody could record it."""
        with diary.run(ctx):
            await asyncio.sleep(seconds)
            asyncio.get_running_loop().call_soon(diary.die, "parting", lambda: os._exit(1))

    @app.task(attempts=1)
    async def fail(ctx: Context, n: int) -> None:
        with diary.run(ctx):
            logging.getLogger("shop").warning("%d goes wrong: %s", n, "x" * 500)
            raise ValueError(n)
