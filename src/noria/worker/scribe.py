"""Makes the writes of handlers in this process: on the loop, in threads, and for processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from noria import ids
from noria.errors import NotRunning
from noria.model.asked import Notify
from noria.model.job import Lease
from noria.model.mark import Mark
from noria.model.question import Question
from noria.worker.context import Stopped
from noria.worker.marks import Marker
from noria.worker.writing import Writing


class Asker(Protocol):
    """Asks questions for handlers on the loop."""

    async def ask(self, lease: Lease, question: Question, notify: Notify | None) -> Any:
        """Ask, and wait for the answer."""
        ...

    async def look_back(self, lease: Lease) -> Question | None:
        """The answered question of an earlier start."""
        ...


_LOOK: Final = 1.0
"""Seconds after which a thread looks whether there is still a loop that could tell it something."""


class LoopScribe:
    """See `noria.worker.writing.Scribe`.

    Args:
        marker: takes marks, on the loop.
        asker: asks questions, on the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, marker: Marker, asker: Asker) -> None:
        self._loop = loop
        self._marker = marker
        self._asker = asker
        self._thread = threading.get_ident()

    def jot(self, mark: Mark) -> None:
        if threading.get_ident() == self._thread:
            self._marker.jot(mark)
        else:
            self._over_there(lambda: self._marker.jot(mark), mark)

    def write(self, mark: Mark) -> Writing:
        if threading.get_ident() == self._thread:
            return Writing(self._marker.add(mark))
        told: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._over_there(lambda: self.tell(mark, told), mark)
        while True:
            try:
                told.result(_LOOK)
                return Writing()
            except concurrent.futures.TimeoutError:
                if self._loop.is_closed():
                    raise _gone(mark) from None

    def ask(self, lease: Lease, question: Question, notify: Notify | None) -> Coroutine[Any, Any, Any]:
        if threading.get_ident() != self._thread:
            raise NotRunning("ctx.ask needs an event loop to wait on: declare the task with `async def`")
        return self._asker.ask(lease, question, notify)

    async def look_back(self, lease: Lease) -> Question | None:
        return await self._asker.look_back(lease)

    def tell(self, mark: Mark, told: concurrent.futures.Future[None]) -> None:
        """On the loop: have a mark recorded for somebody elsewhere."""

        def done(future: asyncio.Future[None]) -> None:
            error = future.exception()
            told.set_result(None) if error is None else told.set_exception(error)

        self._marker.add(mark).add_done_callback(done)

    def _over_there(self, act: Callable[[], Any], mark: Mark) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            raise _gone(mark) from None


def _gone(mark: Mark) -> Stopped:
    return Stopped(f"job {ids.to_text(mark.id)} should end: its worker has ended")
