"""What Noria adds to asyncio: owned tasks, bounded waits, and the breather.

The only file that creates tasks or sleeps.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

Guard = Callable[[str, Callable[..., None]], Callable[..., None]]
"""(name of the part, callback) -> a callback whose failure is heard of."""

BREATH_EVERY: Final = 0.002
BREATH: Final = 0.0001
BUSY: Final = 0.5
"""The share of its time for which a loop computes that has to breathe."""


def bounded(seconds: float | None) -> asyncio.Timeout:
    """A scope that raises TimeoutError when its seconds are over; None does not bound."""
    return asyncio.timeout(seconds)


class Launcher(Protocol):
    """What makes tasks: a loop, or what stands in for one."""

    def create_task(
        self, work: Coroutine[Any, Any, T], /, *, context: contextvars.Context
    ) -> asyncio.Task[T]: ...


def launch(loop: Launcher, work: Coroutine[Any, Any, T], context: contextvars.Context) -> asyncio.Task[T]:
    """Run a job's coroutine as a task in the given context; the caller keeps it and sees its end."""
    return loop.create_task(work, context=context)


async def happened(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for an event; False when the seconds were over first."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True


class Signal:
    """An event whose waits have a bound: for waits that are made for each job, since it costs half of `happened`."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: set[asyncio.Future[bool]] = set()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._is_set

    def set(self) -> None:
        """It happens: all who wait go on."""
        self._is_set = True
        for waiter in self._waiters:
            _tell(waiter, True)

    def clear(self) -> None:
        """It has yet to happen again."""
        self._is_set = False

    async def happened(self, seconds: float) -> bool:
        """Wait for it; False when the seconds were over first."""
        if self._is_set:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.add(waiter)
        limit = loop.call_later(seconds, _tell, waiter, False)
        try:
            return await waiter
        finally:
            limit.cancel()
            self._waiters.discard(waiter)


def _tell(waiter: asyncio.Future[bool], answer: bool) -> None:
    if not waiter.done():
        waiter.set_result(answer)


async def sleep(seconds: float) -> None:
    """Let the loop go on for that many seconds."""
    await asyncio.sleep(seconds)


async def turns(count: int) -> None:
    """Let the loop turn that often, so that what is ready on it has run."""
    for _ in range(count):
        await asyncio.sleep(0)


_JITTER: Final = 0.5


class Pauses:
    """Pauses between repeats of what failed: each about twice as long as the one before, and none alike.

    Args:
        first: seconds of the first, more or less.
        most: seconds that none is longer than.
        chance: for the jitter, which makes each pause half to one and a half times as long.
    """

    def __init__(self, first: float, most: float, chance: random.Random) -> None:
        self._first = self._next = first
        self._most = most / (1 + _JITTER)
        self._chance = chance

    def next(self) -> float:
        """Seconds to pause now."""
        now, self._next = min(self._next, self._most), min(self._next * 2, self._most)
        return now * (1 - _JITTER + 2 * _JITTER * self._chance.random())

    def reset(self) -> None:
        """What failed has gone well."""
        self._next = self._first


class Crew:
    """Owns background tasks: none is forgotten, none fails unheard, all end with their owner.

    A task that ends by an exception, or because others cancelled it, is a fault of its owner: `on_fault`
    hears of it once, at once.
    """

    def __init__(self, name: str, on_fault: Callable[[str, BaseException], None]) -> None:
        self._name = name
        self._on_fault = on_fault
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._stopped: set[asyncio.Task[Any]] = set()
        self._closing = False

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> Callable[[], None]:
        """Run `work` as a task of this crew, in a copy of the current context.

        Returns:
            a function that tells the task to end.
        """
        task = asyncio.get_running_loop().create_task(work, name=f"{self._name}.{name}")
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return lambda: self._stop(task)

    def guarded(self, name: str, callback: Callable[P, None]) -> Callable[P, None]:
        """A callback for a loop or a timer; if it fails, `on_fault` hears of it as of a task's failure."""

        def call(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                callback(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the loop would log it and go on as if nothing were
                self._heard(name, error)

        return call

    def _stop(self, task: asyncio.Task[Any]) -> None:
        if not task.done():
            self._stopped.add(task)
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        stopped = task in self._stopped
        self._tasks.pop(task, None)
        self._stopped.discard(task)
        if not task.cancelled():
            error = task.exception()
        else:
            error = None if stopped else asyncio.CancelledError("it was cancelled by others")
        if error is not None:
            self._heard(task.get_name(), error)

    def _heard(self, name: str, error: BaseException) -> None:
        if not self._closing:
            self._on_fault(name, error)

    async def aclose(self, seconds: float) -> list[str]:
        """Cancel what still runs and wait for it.

        Returns:
            the names of the tasks that had not ended when the seconds were over.
        """
        self._closing = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        return sorted(task.get_name() for task in tasks if not task.done())


class Breather:
    """Lets other threads of ours run beside a busy loop.

    A loop whose turns are shorter than the interpreter's switch interval gives up the interpreter lock at
    each select and wins it back before a waiting thread wakes up, so that thread can starve for seconds.
    While anybody holds the breather, the loop sleeps 100 microseconds at most every 2 milliseconds, 5 % of
    its time, and only if it was busy since: a loop that waits lets others run anyway. A loop has one breather,
    whoever holds it. All methods belong to the loop's thread.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Breather]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._holders = 0
        self._ticking = False
        self._worked = 0.0

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Breather:
        """The breather of a loop."""
        return cls._of.setdefault(loop, cls(loop))

    def hold(self) -> None:
        """Another thread has work for us now. Pair it with `release`."""
        self._holders += 1
        if not self._ticking:
            self._ticking = True
            self._again()

    def release(self) -> None:
        """The work that a `hold` announced is done."""
        self._holders -= 1

    def _tick(self) -> None:
        if self._holders <= 0:
            self._ticking = False
            return
        if time.thread_time() - self._worked > BUSY * BREATH_EVERY:
            time.sleep(BREATH)
        self._again()

    def _again(self) -> None:
        loop = self._loop()
        if loop is not None:
            self._worked = time.thread_time()
            loop.call_later(BREATH_EVERY, self._tick)
