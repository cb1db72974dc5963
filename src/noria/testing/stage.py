"""An ordinary asyncio loop, put into virtual time for a while, with processes that can be killed.

Time stands still while anything is ready. It also stands still, for a while of real time, as long as a thread
runs or a socket or pipe of the program's own is open: the answer may be on its way. Only then does it move, at
once, to the next timer.

It takes the place of a few methods of one loop object. asyncio looks these up anew at each use, so the loop
goes on as before when they are taken away again.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from noria.errors import ConfigError
from noria.testing.virtual import Deadlock, Process, gated, process_of

LONGEST: Final = 366 * 86_400.0
"""Virtual seconds after which a test that still waits is told so."""

_RESOLUTION: Final = 1e-6
"""Seconds by which asyncio may run a timer early; with its own 1e-9, none would ever fire after some months."""
_STAGED: Final = "_noria_stage"
_REPLACED: Final = ("call_soon", "call_at", "create_task", "run_in_executor")


class Stage:
    """Virtual time on the running loop. Make it with `on_stage`.

    Args:
        patience: real seconds for which time stands still for threads and I/O that give no sign of life.

    Attributes:
        now: the time of the loop.
        graveyard: callbacks of killed processes.
    """

    def __init__(self, loop: asyncio.SelectorEventLoop, patience: float) -> None:
        self.loop = loop
        self.patience = patience
        self.now = loop.time()
        self._busy = 0
        self._tasks: dict[Process, set[asyncio.Task[Any]]] = {}
        self._end = self.now + LONGEST
        self._selector: selectors.BaseSelector = vars(loop)["_selector"]
        self._own = {name: getattr(loop, name) for name in _REPLACED}
        self._hung = False
        self._quiet: list[asyncio.Future[None]] = []
        self._moved: list[asyncio.Future[None]] = []
        self.graveyard: list[Any] = []

    # -- for who drives the test -------------------------------------------------------------------------

    async def quiet(self) -> None:
        """Wait until nothing is ready and nothing is in flight; no time passes at its end."""
        await self._next(self._quiet)

    async def moved(self) -> None:
        """Wait until time has moved once."""
        await self._next(self._moved)

    async def _next(self, waiting: list[asyncio.Future[None]]) -> None:
        future: asyncio.Future[None] = self.loop.create_future()
        waiting.append(future)
        await future

    def raise_up(self, process: Process) -> None:
        """After the test: let a killed process go on where it was, so that it can tidy up."""
        process.dead = False
        own = [each for each in self.graveyard if each.process is process]
        self.graveyard = [each for each in self.graveyard if each.process is not process]
        for each in own:
            self.call_soon(each)

    def tasks_of(self, process: Process) -> list[asyncio.Task[Any]]:
        """The tasks of a process that have not ended."""
        return list(self._tasks.get(process, ()))

    # -- in place of the loop's own methods ----------------------------------------------------------------

    def methods(self) -> dict[str, Any]:
        """What the loop has instead of its own while it is on stage."""
        return {
            **{name: getattr(self, name) for name in _REPLACED},
            "time": lambda: self.now,
            "_clock_resolution": _RESOLUTION,
            "_selector": Waiting(self._selector, self.wait),
            _STAGED: self,
        }

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> Any:
        one = gated(self, callback, args, context)
        if one is None:
            return self._own["call_soon"](callback, *args, context=context)
        one.handle = self._own["call_soon"](one, context=one.context.copy())
        return one.handle

    def call_at(
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Any:
        one = gated(self, callback, args, context)
        if one is None:
            return self._own["call_at"](when, callback, *args, context=context)
        timer = self._own["call_at"](when, one, context=one.context.copy())
        one.handle = timer
        return timer

    def create_task(self, work: Coroutine[Any, Any, Any], **given: Any) -> Any:
        task = self._own["create_task"](work, **given)
        process = process_of(given.get("context"))
        if process is not None:
            self._tasks.setdefault(process, set()).add(task)
            task.add_done_callback(self._tasks[process].discard, context=contextvars.Context())
        return task

    def run_in_executor(self, executor: Any, function: Callable[..., Any], *args: Any) -> Any:
        future = self._own["run_in_executor"](executor, function, *args)
        self.begun()
        future.add_done_callback(lambda _: self.ended(), context=contextvars.Context())
        return future

    def begun(self) -> None:
        """Work in a thread has begun."""
        self._busy += 1
        self._hung = False

    def ended(self) -> None:
        """Work in a thread has ended."""
        self._busy -= 1

    # -- time ----------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """The loop has nothing to do for `timeout` virtual seconds; None: unless something comes from outside."""
        events = self._selector.select(0)
        if events or (timeout is not None and timeout <= 0):
            self._hung = self._hung and not events
            return events
        if self._in_flight() and not self._hung:
            events = self._selector.select(self.patience)
            self._hung = not events
            if events:
                return events
        self._pass(timeout)
        return []

    def _pass(self, timeout: float | None) -> None:
        if self._quiet:
            return _wake(self._quiet)
        if timeout is None:
            raise Deadlock("nothing is ready and no timer is set: the test waits for what cannot come")
        self.now += timeout
        if self.now > self._end:
            self._end = self.now + LONGEST
            raise Deadlock("a year of virtual time went by, and the test still waits for what did not come")
        _wake(self._moved)

    def _in_flight(self) -> bool:
        """Whether a thread runs, or a file is watched beside the loop's own alarm."""
        return self._busy > 0 or len(self._selector.get_map()) > 1


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    ready, waiting[:] = list(waiting), []
    for each in ready:
        if not each.done():
            each.set_result(None)


class Waiting(selectors.BaseSelector):
    """A selector whose waits somebody else decides."""

    def __init__(
        self,
        inner: selectors.BaseSelector,
        wait: Callable[[float | None], list[tuple[selectors.SelectorKey, int]]],
    ) -> None:
        self._inner = inner
        self._wait = wait

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._wait(timeout)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


@contextmanager
def on_stage(patience: float) -> Iterator[Stage]:
    """Put the running loop into virtual time.

    Raises:
        ConfigError: it is no loop of asyncio's own, or on stage already.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, asyncio.SelectorEventLoop):
        raise ConfigError(
            f"noria.testing.run needs asyncio's own event loop, not {type(loop).__module__}.{type(loop).__name__}; "
            "run this test on asyncio.SelectorEventLoop"
        )
    if _STAGED in vars(loop):
        raise ConfigError("noria.testing.run is used already in this event loop; one at a time")
    stage = Stage(loop, patience)
    own, replaced = vars(loop), stage.methods()
    before = {name: own[name] for name in replaced if name in own}
    own.update(replaced)
    try:
        yield stage
    finally:
        for name in replaced:
            own.pop(name, None)
        own.update(before)
