"""A bounded pool of processes for `executor="process"`: one job each at a time, warm, and ended alone.

A process that dies takes its own job with it and no other: neighbours have processes of their own. A process is
replaced when it has died, has run its number of jobs, or holds too much memory after one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import UNSET

from noria import aio, ids
from noria.aio import Guard
from noria.backends.contract import Evidence
from noria.errors import ConfigError
from noria.model.job import Lease
from noria.model.outcome import Failure
from noria.worker.process import Process
from noria.worker.raised import Raised
from noria.worker.scribe import LoopScribe
from noria.worker.wire import Begin, Broken, FromProcess, Halt, Hello, Noted, Ready, Returned, Threw, Wrote

log = logging.getLogger("noria.worker")

FIRST_IMPORT: Final = 120.0
"""Seconds that a process gets to import the application before the worker gives up starting."""
_AGAIN_AT_MOST: Final = 30.0
_LEAVING: Final = 1.0
"""Seconds that idle processes get to end by themselves."""

Told = Returned | Threw
"""How a job in a process ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How processes are started.

    Attributes:
        command: what is executed; the number of a socket is added.
        hello: the first words to each.
        folder: where they begin: a handler may change the folder of the worker's process.
    """

    command: Sequence[str]
    hello: Hello
    folder: str


class Seat(Protocol):
    """A job that runs in a process, or waits for one that is being started."""

    def halt(self) -> None:
        """Tell its handler that it should end."""
        ...

    def kill(self, why: str) -> None:
        """End it now; its process is replaced. A job that has not begun never does."""
        ...


class Processes(Protocol):
    """Where handlers of `executor="process"` run."""

    async def open(self) -> None:
        """See that the application can be imported; raises `ConfigError` if it cannot."""
        ...

    def write_by(self, scribe: LoopScribe) -> None:
        """From now on what handlers have written down in mid-run is written by this one."""
        ...

    def submit(self, lease: Lease, begun: Callable[[], None], done: Callable[[Told], None]) -> Seat:
        """Run a job. The caller bounds how many run at once.

        Args:
            begun: called when a process has been told to run it; at once if one is idle.
            done: called once, after the handler has ended or its process has died.
        """
        ...

    async def aclose(self) -> None:
        """End all processes."""
        ...


class _Seat:
    """One job, from `submit` to its end."""

    def __init__(
        self, pool: ProcessPool, lease: Lease, begun: Callable[[], None], done: Callable[[Told], None]
    ) -> None:
        self._pool = pool
        self.lease = lease
        self.begun = begun
        self.done = done
        self.process: Process | None = None
        self.unwanted = False

    def halt(self) -> None:
        if self.process is not None:
            self.process.say(Halt(self.lease.id, self.lease.starts))
        else:
            self._pool.give_up(self)

    def kill(self, why: str) -> None:
        self.unwanted = True
        if self.process is not None:
            self.process.kill(why)
        else:
            self._pool.give_up(self)

    def __str__(self) -> str:
        return f"{self.lease.task} {ids.to_text(self.lease.id)}"


@dataclass(slots=True)
class _State:
    """What the pool knows of one process."""

    ready: bool = False
    jobs: int = 0
    seat: _Seat | None = None
    leaving: bool = False


class ProcessPool:
    """Processes started when they are first needed, never more than were ever busy at once.

    Args:
        launch: how they are started.
        guarded: wraps what the loop calls, so that a fault in it ends the worker and is not only logged.
        job_limit, memory_limit: after so many jobs, or with more bytes of memory than that after one, a process
            is replaced; 0: never.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        launch: Launch,
        *,
        guarded: Guard,
        job_limit: int,
        memory_limit: int,
    ) -> None:
        self._loop = loop
        self._launch = launch
        self._hear = guarded("processes", self._said)
        self._bury = guarded("processes", self._died)
        self._retry = guarded("processes", self._try_again)
        self._job_limit = job_limit
        self._memory_limit = memory_limit
        self._processes: dict[Process, _State] = {}
        self._waiting: deque[_Seat] = deque()
        self._scribe: LoopScribe | None = None
        self._again: asyncio.TimerHandle | None = None
        self._pause = 0.0
        self._broken = ""
        self._news = asyncio.Event()
        self._open = True
        self._proven = False

    async def open(self) -> None:
        """Start one process, and wait until it has imported the application.

        Raises:
            ConfigError: it cannot be imported there, or a process cannot be started; the message says why.
        """
        self._news.clear()
        self._start()
        try:
            async with aio.bounded(FIRST_IMPORT):
                while not self._broken and not self._proven:
                    await self._news.wait()
                    self._news.clear()
        except TimeoutError:
            self._broken = f"it has not imported the application within {FIRST_IMPORT:g} s"
        if self._broken:
            raise ConfigError(f'a process for tasks with executor="process" cannot work: {self._broken}')

    def write_by(self, scribe: LoopScribe) -> None:
        self._scribe = scribe

    def submit(self, lease: Lease, begun: Callable[[], None], done: Callable[[Told], None]) -> Seat:
        seat = _Seat(self, lease, begun, done)
        self._waiting.append(seat)
        self._assign()
        return seat

    def give_up(self, seat: _Seat) -> None:
        """A job that no process has been told of yet is not wanted any more."""
        if seat in self._waiting:
            self._waiting.remove(seat)
            failure = Failure.of("released", "it was stopped before a process had begun it")
            self._loop.call_soon(seat.done, Threw(Raised("cancel", failure), 0))

    async def aclose(self) -> None:
        self._open = False
        if self._again is not None:
            self._again.cancel()
        for process, state in self._processes.items():
            if state.seat is None:
                process.dismiss()
            else:
                state.seat.kill("the worker ends")
        for seconds in (_LEAVING, _LEAVING):
            end = self._loop.time() + seconds
            while self._processes and self._loop.time() < end:
                self._news.clear()
                await aio.happened(self._news, end - self._loop.time())
            for process in self._processes:
                process.kill("the worker ends")

    # -- jobs and processes --------------------------------------------------------------------------------

    def _assign(self) -> None:
        """Give each waiting job an idle process; start as many as are missing."""
        for process, state in self._processes.items():
            if self._waiting and state.ready and state.seat is None and not state.leaving:
                self._begin(process, state, self._waiting.popleft())
        coming = sum(not state.ready for state in self._processes.values())
        for _ in range(len(self._waiting) - coming):
            if self._again is None:
                self._start()

    def _begin(self, process: Process, state: _State, seat: _Seat) -> None:
        state.seat, seat.process = seat, process
        state.jobs += 1
        seat.begun()
        process.say(Begin(seat.lease))

    def _start(self) -> None:
        try:
            process = Process(
                self._loop, self._launch.command, self._launch.folder, said=self._hear, died=self._bury
            )
        except OSError as error:
            self._failed(f"it cannot be started: {error}")
            return
        self._processes[process] = _State()
        process.say(self._launch.hello)

    def _failed(self, why: str) -> None:
        """No process can work just now: say so, and try again later, not as fast as one can."""
        self._broken = why
        self._news.set()
        if not self._proven:
            return  # `open` waits, and tells
        if self._open and self._again is None:
            self._pause = min(max(2 * self._pause, 0.5), _AGAIN_AT_MOST)
            log.error('a process for executor="process" cannot work, next try in %g s: %s', self._pause, why)
            self._again = self._loop.call_later(self._pause, self._retry)

    def _try_again(self) -> None:
        self._again = None
        self._assign()

    # -- what processes say --------------------------------------------------------------------------------

    def _said(self, process: Process, words: FromProcess) -> None:
        state = self._processes[process]
        match words:
            case Ready():
                state.ready, self._proven, self._pause = True, True, 0.0
                self._news.set()
                self._assign()
            case Broken():
                self._failed(f"{words.message}\n{words.traceback}".rstrip())
            case Returned() | Threw():
                self._ended(process, state, words)
            case Wrote() if state.seat is not None and _is_of(words, state.seat.lease):
                self._write(process, words)

    def _write(self, process: Process, words: Wrote) -> None:
        if self._scribe is None or words.mark.flaw or words.mark.docs or words.mark.asks is not UNSET:
            process.kill("it wrote down what it cannot")
        elif words.number == 0:
            self._scribe.jot(words.mark)
        else:
            done: concurrent.futures.Future[None] = concurrent.futures.Future()
            done.add_done_callback(lambda told: process.say(_noted(words.number, told.exception())))
            self._scribe.tell(words.mark, done)

    def _ended(self, process: Process, state: _State, told: Told) -> None:
        seat, state.seat = state.seat, None
        if seat is None:
            process.kill("it told of a job that it does not run")
            return
        short = isinstance(told, Threw) and told.short
        if short:
            log.warning("process %d had too little memory for %s, and is replaced", process.pid, seat)
        if short or self._worn(state, told.memory):
            state.leaving = True
            process.dismiss()
            self._loop.call_later(_LEAVING, process.kill, "it did not end when it was to be replaced")
        # The slot is free, and the process too, before what comes next may ask for either.
        seat.done(told)
        self._assign()

    def _worn(self, state: _State, memory: int) -> bool:
        too_many = 0 < self._job_limit <= state.jobs
        return too_many or 0 < self._memory_limit < memory

    def _died(self, process: Process, evidence: Evidence, left: int) -> None:
        state = self._processes.pop(process)
        self._news.set()
        if left:
            who = f"process {process.pid}" if state.seat is None else f"{state.seat} in process {process.pid}"
            log.warning("%s had started %s, ended with it", who, _others(left))
        if state.seat is not None:
            failure = Failure.of("crash", _story(evidence))
            if not state.seat.unwanted:
                log.warning("%s crashed: %s", state.seat, failure.message)
            state.seat.done(Threw(Raised("crash", failure), 0))
        elif not state.ready and self._open and self._again is None:
            self._failed(evidence.cause.replace("which ran this job, ", "which imported the application, "))
        if self._open:
            self._assign()


def _is_of(words: Wrote, lease: Lease) -> bool:
    return (words.mark.id, words.mark.starts) == (lease.id, lease.starts)


def _noted(number: int, error: BaseException | None) -> Noted:
    return Noted(number, "" if error is None else str(error) or type(error).__name__)


def _others(count: int) -> str:
    return f"{count} other process" if count == 1 else f"{count} other processes"


def _story(evidence: Evidence) -> str:
    most = f"; it held up to {evidence.memory / 2**20:.0f} MiB" if evidence.memory else ""
    return f"{evidence.cause}{most}"
