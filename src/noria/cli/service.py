"""Runs one worker in this process until it is told to stop: what `noria worker` and `noria up` share."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import logging
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from noria.aio import Crew
from noria.app.application import Noria
from noria.backends.contract import Evidence
from noria.cli.departure import Departure
from noria.cli.exits import ExitCode, ImportFault, code_of
from noria.cli.line import Line
from noria.cli.quantities import duration
from noria.cli.signals import Ears
from noria.cli.target import opened
from noria.cli.traces import is_ours, users_trace
from noria.clock import SystemClock
from noria.errors import NoriaError
from noria.worker import Exit, Worker, WorkerSettings
from noria.worker.settings import last_words
from noria.worker.watchdog import stacks
from noria.worker.worker import Observer

log = logging.getLogger("noria.cli")

CODES: Final = {Exit.CLEAN: ExitCode.OK, Exit.CUT: ExitCode.FAILED, Exit.REPLACE: ExitCode.RESTART}
_LAST_STEPS: Final = 5.0
"""Seconds beyond the grace after which a process that should be gone is ended the hard way."""


class Drains(Protocol):
    """What comes to its end when it is asked to."""

    def drain(self) -> None:
        """Finish what has begun, and end; asked again: end now."""


Beside = Callable[[Noria, Callable[[], None]], contextlib.AbstractAsyncContextManager[Drains | None]]


def nobody(app: Noria, drain: Callable[[], None]) -> contextlib.AbstractAsyncContextManager[None]:
    """A worker that has its process for itself."""
    return contextlib.nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One worker and its process.

    Attributes:
        app: the application; opened and closed here.
        settings: of the worker, checked.
        observer: hears of each recorded outcome; must not raise.
        ready: called with the open application, before the first job.
        departure: ends the process.
        timeout: seconds to wait for the backend.
        line: to the supervisor, if there is one.
        beside: what else lives in this process while the worker does; entered with the open application and with
            what makes both drain, and drains when the worker does.
    """

    app: Noria
    settings: WorkerSettings
    observer: Observer
    ready: Callable[[Noria], Awaitable[None]]
    departure: Departure
    timeout: float
    line: Line | None = None
    beside: Beside = nobody

    def run(self) -> ExitCode:
        """Work until a signal, or until nothing is left to do in burst mode.

        From the return on, or from the error on, the process ends within two seconds.

        Raises:
            ImportFault: the application's lifespan failed.
            NoriaError: a part of the worker failed, or the backend cannot be used.
        """
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            code = ExitCode.BUG
            try:
                code = CODES[runner.run(self._serve())]
            except (Exception, KeyboardInterrupt) as error:
                code = code_of(error)
                raise
            finally:
                # Closing the loop waits for whatever handlers have left behind, some of it without a limit.
                self.departure.decide(code)
        return code

    async def _serve(self) -> Exit:
        stopping = _Stopping(asyncio.get_running_loop(), self.settings.grace, self.departure)
        Ears(stopping.heard, SystemClock().monotonic, {signal.SIGUSR1: tell_where_all_stand}).open()
        async with opened(self.app, self.timeout):
            _tune_interpreter()
            worker = make_worker(self.app, self.settings, self.observer, self.line)
            stopping.watch(worker)
            async with self.beside(self.app, stopping.drain) as other, self._tied(worker, stopping):
                if other is not None:
                    stopping.join(other)
                await self.ready(self.app)
                try:
                    return await worker.run()
                except NoriaError:
                    raise
                except Exception as error:
                    raise _blamed(error) from error

    @contextlib.asynccontextmanager
    async def _tied(self, worker: Worker, stopping: _Stopping) -> AsyncIterator[None]:
        """The time in which the supervisor and the worker hear of each other."""
        line = self.line
        if line is None:
            yield
            return

        async def tell() -> None:
            await worker.started.wait()
            line.working()

        stopping.obey(line)
        crew = Crew("noria.service", lambda part, error: log.error("%s failed: %r", part, error))
        crew.start("tell", tell())
        try:
            yield
        finally:
            await crew.aclose(1.0)


def _tune_interpreter() -> None:
    """Set what is this process's own to set, since it does nothing but run jobs.

    The collector looks less often, and not at what stays for good: each job leaves dozens of objects for a moment
    and no cycles, and the usual thresholds made it a tenth of the work. And threads take turns every millisecond, not
    every five: a CPU-bound `def` job should not make the loop wait that long at each of its steps.
    """
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def _blamed(error: Exception) -> Exception:
    """A worker raises its own errors only; what else comes is the lifespan's, or a bug."""
    if is_ours(error):
        return error
    message = f"the lifespan of the application failed: {type(error).__name__}: {error}"
    return ImportFault(message, trace=users_trace(error))


class _Stopping:
    """What the first, second and third signal do."""

    def __init__(self, loop: asyncio.AbstractEventLoop, grace: float, departure: Departure) -> None:
        self._worker: Worker | None = None
        self._all: list[Drains] = []
        self._asked = 0
        self._loop = loop
        self._grace = grace
        self._departure = departure

    def watch(self, worker: Worker) -> None:
        """This is the worker to stop."""
        self._worker = worker
        self.join(worker)

    def join(self, other: Drains) -> None:
        """This one is to be stopped, too; signals may have come before it was there."""
        self._all.append(other)
        for _ in range(self._asked):
            other.drain()

    def obey(self, line: Line) -> None:
        """Hear of what the supervisor sees, and of its end."""
        for death in line.attach(self._died, self._orphaned):
            self._hear_of(death)

    def _died(self, death: Evidence) -> None:
        """From a thread: a process of this machine has died."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._hear_of, death)

    def _hear_of(self, death: Evidence) -> None:
        if self._worker is not None:
            self._worker.hear_of(death)

    def _orphaned(self) -> None:
        """From any thread: nobody would start this process again, and another supervisor may have come."""
        log.warning("the supervisor is gone: draining for up to %s", how_long(self._grace))
        self._stop(self._grace)

    def heard(self, number: int, count: int) -> None:
        """A signal came; the `count`-th. From the thread that listens."""
        name = signal.Signals(number).name
        if count == 1:
            log.warning("%s: draining for up to %s; again stops now", name, how_long(self._grace))
            self._stop(self._grace)
        elif count == 2:
            log.warning("%s again: stopping now; running jobs are handed back", name)
            self._stop(0.0)
        else:
            self._departure.now(ExitCode.FAILED)

    def _stop(self, grace: float) -> None:
        # Should the loop be blocked for good, the process ends all the same: its jobs are fenced.
        self._departure.limit(ExitCode.FAILED, grace + _LAST_STEPS)
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so will the process
            self._loop.call_soon_threadsafe(self.drain)

    def drain(self) -> None:
        """From the loop: all of them drain."""
        self._asked += 1
        for each in self._all:
            each.drain()


def how_long(grace: float) -> str:
    """How long a stop may take, in words."""
    kept = last_words(grace)
    return (
        f"{duration(grace)}, the last {duration(kept)} of it to record outcomes" if kept else duration(grace)
    )


def make_worker(app: Noria, settings: WorkerSettings, observer: Observer, line: Line | None = None) -> Worker:
    """A worker of an open application, with these settings."""
    options = {name: getattr(settings, name) for name in WorkerSettings.__dataclass_fields__}
    worker = app.worker(observer=observer, **options)
    if line is not None:
        worker.leaving = line.leaving
    return worker


def tell_where_all_stand() -> None:
    """Log what each thread of this process is doing."""
    log.warning("SIGUSR1: where the threads of this process stand:\n%s", stacks())


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The fastest event loop that is installed."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
