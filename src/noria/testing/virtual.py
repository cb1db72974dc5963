"""An event loop in virtual time, with processes that can be killed and paused.

Time moves to the next timer when nothing is ready, so an hour takes no longer than what happens in it.
Callbacks that are ready together run in an order drawn from the seed. A *process* is everything that was
started from its first coroutine: asyncio hands the context on, and each callback is gated by the process of
its context. A killed process simply never runs again; not even a `finally` does.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVarTuple

from noria import aio
from noria.errors import NoriaError
from noria.ids import seeded

_PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)

_Args = TypeVarTuple("_Args")


class Deadlock(NoriaError):
    """Nothing is ready and no timer is set: the program waits for something that cannot come."""


class Theatre(aio.Launcher, Protocol):
    """A loop, or what stands in for one, on which processes are simulated.

    Attributes:
        graveyard: callbacks of the dead, which are kept and never run.
    """

    graveyard: list[Any]

    def call_soon(self, callback: Callable[..., Any], /) -> asyncio.Handle: ...


class Process:
    """A simulated operating system process.

    Attributes:
        name: for the history.
        dead: it was killed, or has ended; nothing of it runs any more.
        paused: nothing of it runs until it is resumed.
    """

    def __init__(self, loop: Theatre, name: str) -> None:
        self._loop = loop
        self.name = name
        self.dead = False
        self.paused = False
        self._stash: list[_Gated] = []

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run the first coroutine of the process."""
        context = contextvars.copy_context()
        context.run(_PROCESS.set, self)
        return aio.launch(self._loop, work, context)

    def kill(self) -> None:
        """As kill -9: from now on nothing of it runs."""
        self.dead = True
        self._loop.graveyard += self._stash
        self._stash.clear()

    def pause(self) -> None:
        """As kill -STOP."""
        self.paused = True

    def resume(self) -> None:
        """As kill -CONT: what became ready meanwhile runs now."""
        self.paused = False
        stash, self._stash = self._stash, []
        for gated in stash:
            self._loop.call_soon(gated)

    def hold(self, gated: _Gated) -> None:
        """Keep a callback until the process is resumed."""
        self._stash.append(gated)


class _Gated:
    """A callback of a process: runs, waits or vanishes with it."""

    __slots__ = ("args", "callback", "context", "handle", "loop", "process")

    def __init__(
        self,
        loop: Theatre,
        process: Process,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: contextvars.Context,
    ) -> None:
        self.loop = loop
        self.process = process
        self.callback = callback
        self.args = args
        self.context = context
        self.handle: asyncio.Handle | None = None

    def __call__(self) -> None:
        if self.process.dead:
            # Kept alive: a coroutine that is collected runs its `finally` blocks, and the dead run nothing.
            self.loop.graveyard.append(self)
        elif self.process.paused:
            self.process.hold(self)
        elif self.handle is None or not self.handle.cancelled():
            self.context.run(self.callback, *self.args)


def gated(
    loop: Theatre, callback: Callable[..., Any], args: tuple[Any, ...], context: contextvars.Context | None
) -> _Gated | None:
    """A callback as one of its process; None if it belongs to none."""
    if isinstance(callback, _Gated):
        return None
    context = contextvars.copy_context() if context is None else context
    process = context.get(_PROCESS)
    return None if process is None else _Gated(loop, process, callback, args, context)


class _Timeless(selectors.BaseSelector):
    """A selector without files: waiting moves the virtual clock."""

    def __init__(self, waited: Callable[[float | None], None]) -> None:
        self._waited = waited
        self._inner = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._waited(timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop of a simulation; one thread, no I/O.

    Args:
        seed: decides the order of callbacks that are ready together.
    """

    # asyncio's own names; the only place where a loop can be told in which order to run what is ready.
    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self, seed: int) -> None:
        self._now = 0.0
        self._order = seeded(seed)
        self.graveyard: list[Any] = []
        super().__init__(_Timeless(self._wait))

    def time(self) -> float:
        return self._now

    def process(self, name: str) -> Process:
        """A new process; `start` gives it its first coroutine."""
        return Process(self, name)

    def call_soon(
        self,
        callback: Callable[[*_Args], object],
        *args: *_Args,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        one = gated(self, callback, args, context)
        if one is None:
            return super().call_soon(callback, *args, context=context)
        one.handle = super().call_soon(one, context=one.context.copy())
        return one.handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Args], object],
        *args: *_Args,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        one = gated(self, callback, args, context)
        if one is None:
            return super().call_at(when, callback, *args, context=context)
        timer = super().call_at(when, one, context=one.context.copy())
        one.handle = timer
        return timer

    def _wait(self, timeout: float | None) -> None:
        if timeout is None and not self._stopping:
            raise Deadlock("nothing is ready and no timer is set")
        self._now += max(0.0, timeout or 0.0)

    def _run_once(self) -> None:
        ready = self._ready
        if len(ready) > 1:
            shuffled = list(ready)
            self._order.shuffle(shuffled)
            ready.clear()
            ready.extend(shuffled)
        super()._run_once()  # type: ignore[misc]  # asyncio's own name, the only place to order callbacks


def process_of(context: contextvars.Context | None) -> Process | None:
    """The process that a context belongs to; None: the current one."""
    return _PROCESS.get() if context is None else context.get(_PROCESS)


def current_process() -> Process | None:
    """The process that runs now; None outside any."""
    return _PROCESS.get()
