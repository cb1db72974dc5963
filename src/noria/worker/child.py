"""Inside a process that runs jobs for a worker: takes one job at a time, and tells how it ended.

The main thread runs handlers, so that they may use signals. A second thread listens to the worker, which may say
that a job should end while its handler runs. When the worker is gone, so is this process.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from queue import SimpleQueue
from typing import Any, NoReturn

from noria.clock import Clock
from noria.errors import NotRunning
from noria.model.job import Lease
from noria.model.outcome import Failure
from noria.model.task import TaskDef
from noria.worker import memory
from noria.worker.call import Packed, call, surrounded
from noria.worker.context import Context
from noria.worker.linescribe import LineScribe
from noria.worker.raised import Raised, Unpackable, raised, refused
from noria.worker.wire import (
    CUT_OFF,
    MAX_LOGGED,
    Begin,
    Frames,
    FromProcess,
    FromWorker,
    Halt,
    Logged,
    Noted,
    Returned,
    Threw,
    WireError,
    frame,
    from_worker,
)

Wait = Callable[[Coroutine[Any, Any, Packed]], Packed]
"""Runs a coroutine to its end, and gives what it returns or raises."""


class Line:
    """The line to the worker. Anything may be said from any thread; one thread listens."""

    def __init__(self, file: int) -> None:
        self._socket = socket.socket(fileno=file)
        # What handlers start must not keep the line open.
        self._socket.set_inheritable(False)
        self._lock = threading.RLock()
        self._frames = Frames()
        self._identity = _identity(file)
        self._pid = os.getpid()

    def say(self, words: FromProcess) -> None:
        """Send one value. A process whose handler has closed this line ends, since nobody would hear of its jobs."""
        if os.getpid() != self._pid:
            # A fork that a handler has made, and that came back from it: the job is not its own to end.
            return None if isinstance(words, Logged) else os._exit(0)
        try:
            with self._lock:
                if _identity(self._socket.fileno()) != self._identity:
                    os._exit(CUT_OFF)  # the number is of another file by now
                self._socket.sendall(frame(words))
        except ConnectionError:
            pass  # the worker is gone, and who listens ends this process
        except OSError:
            os._exit(CUT_OFF)

    def hear(self) -> Iterator[FromWorker]:
        """Everything that the worker says, until it closes the line or is gone."""
        with contextlib.suppress(OSError, WireError):
            while data := self._socket.recv(65_536):
                for each in self._frames.feed(data):
                    yield from_worker(each)


def _identity(file: int) -> tuple[int, int]:
    """What tells an open file from another that has its number later."""
    seen = os.fstat(file)
    return seen.st_dev, seen.st_ino


class _Run:
    """One job, as it came."""

    def __init__(self, lease: Lease, context: Context) -> None:
        self.lease = lease
        self.context = context


class Desk:
    """Runs jobs of an application's tasks, one at a time.

    Args:
        state: what `Context.state` is here.
        wait: runs on a loop what stands around handlers.
    """

    def __init__(
        self, tasks: Mapping[str, TaskDef], line: Line, state: Any, clock: Clock, wait: Wait
    ) -> None:
        self._tasks = tasks
        self._line = line
        self._state = state
        self._clock = clock
        self._wait = wait
        self._scribe = LineScribe(line.say)
        self._jobs: SimpleQueue[_Run | None] = SimpleQueue()
        self._run: _Run | None = None

    def work(self, words: Iterator[FromWorker]) -> None:
        """Run what comes, until the worker closes the line; in the main thread."""
        threading.Thread(target=self._listen, args=(words,), name="noria-line", daemon=True).start()
        while (run := self._jobs.get()) is not None:
            told = contextvars.Context().run(attempt, self._tasks, run.lease, run.context, self._wait)
            _flush()
            # From here on, a closed line ends this process in good order.
            self._run = None
            self._line.say(told)

    def _listen(self, words: Iterator[FromWorker]) -> None:
        for each in words:
            match each:
                case Begin():
                    context = Context(each.lease, self._state, self._clock.wall, self._scribe)
                    self._run = _Run(each.lease, context)
                    self._jobs.put(self._run)
                case Halt() if self._run is not None and _is_of(each, self._run.lease):
                    self._run.context.stop()
                case Noted():
                    self._scribe.noted(each)
        if self._run is not None:
            # The worker is gone, and its session with it: what the handler goes on to do is not wanted.
            os.killpg(0, signal.SIGKILL)
        self._jobs.put(None)


def attempt(tasks: Mapping[str, TaskDef], lease: Lease, context: Context, wait: Wait) -> Returned | Threw:
    """Run one job here and now; whatever its handler does is told as data.

    Args:
        wait: runs on a loop what stands around the handler, if something does.
    """
    task = tasks.get(lease.task)
    if task is None:
        failure = Failure.of("unknown_task", f"the task {lease.task!r} is not declared in this process")
        return Threw(Raised("unknown", failure), memory.resident())
    try:
        arguments = task.unpack(lease.body, lease.codec)
    except BaseException as error:  # noqa: BLE001 - a class of the user's may raise anything in decoding
        return _threw(refused(error), error)
    try:
        if task.around is None:
            value, codec = call(task, context if task.takes_context else None, arguments)
        else:
            value, codec = wait(surrounded(task, context, arguments, _here))
    except BaseException as error:  # noqa: BLE001 - even SystemExit is data about the job
        return _threw(raised(error, task.retry), error, context.closing)
    return Returned(value, codec, memory.resident(), context.take_follow_ups(), context.closing)


async def _here(function: Callable[[], Any]) -> Any:
    """Nothing else is on the loop of this process, so a handler may block it."""
    return function()


def _threw(what: Raised, error: BaseException, closing: float = 0.0) -> Threw:
    first = error.cause if isinstance(error, Unpackable) else error
    return Threw(what, memory.resident(), isinstance(first, MemoryError), closing)


def _is_of(halt: Halt, lease: Lease) -> bool:
    return (halt.id, halt.starts) == (lease.id, lease.starts)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


class NoState:
    """`Context.state` in a process: the lifespan's value lives in the worker, and says so if it is touched."""

    def _refuse(self) -> NoReturn:
        raise NotRunning(
            "ctx.state belongs to the worker's own process, and this job runs in another; open what it needs "
            "in the module, or when it is first used"
        )

    def __getattr__(self, name: str) -> NoReturn:
        # Protocols such as copying look for these, and must find that they are not there.
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse()


class Forward(logging.Handler):
    """Sends what is logged here to the worker, whose log is the only one."""

    def __init__(self, say: Callable[[FromProcess], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            text = record.getMessage()
        except Exception as error:  # noqa: BLE001 - a wrong format string must not cost the record
            text = f"{record.msg!r:.500} (its arguments do not fit: {type(error).__name__})"
        logged = record.exc_info[1] if record.exc_info else None
        trace = "" if logged is None else "".join(traceback.format_exception(logged))
        with contextlib.suppress(Exception):  # a record that cannot be sent must not break who logs it
            self._say(Logged(record.name, record.levelno, _fit(text[:MAX_LOGGED]), _fit(trace[-MAX_LOGGED:])))


def _fit(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def settle_in(line: Line, level: int) -> None:
    """Make this process the worker's: its log goes there, and its signals come from there."""
    # Who stops a worker often signals all that it has started; what runs here is the worker's to end. Functions,
    # not SIG_IGN, which the programs that handlers start would inherit.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    root = logging.getLogger()
    root.addHandler(Forward(line.say))
    root.setLevel(level)
    logging.captureWarnings(True)
