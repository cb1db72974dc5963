"""Makes the writes of a handler in a process of its own: the worker makes them for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from itertools import count
from queue import SimpleQueue
from typing import Any, NoReturn

from noria.errors import NotRunning
from noria.model.asked import Notify
from noria.model.job import Lease
from noria.model.mark import Mark
from noria.model.question import Question
from noria.worker.context import Stopped
from noria.worker.wire import Noted, Wrote
from noria.worker.writing import Writing


class LineScribe:
    """See `noria.worker.writing.Scribe`.

    Args:
        say: tells the worker something.
    """

    def __init__(self, say: Callable[[Wrote], None]) -> None:
        self._say = say
        self._numbers = count(1)
        self._waiting: dict[int, SimpleQueue[str]] = {}
        self._lock = threading.Lock()

    def jot(self, mark: Mark) -> None:
        self._say(Wrote(0, mark))

    def write(self, mark: Mark) -> Writing:
        told: SimpleQueue[str] = SimpleQueue()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = told
        self._say(Wrote(number, mark))
        # Without the worker this process ends, and does not wait on.
        if refused := told.get():
            raise Stopped(refused)
        return Writing()

    def noted(self, words: Noted) -> None:
        """In the thread that listens: the worker has answered."""
        told = self._waiting.pop(words.number, None)
        if told is not None:
            told.put(words.refused)

    def ask(self, lease: Lease, question: Question, notify: Notify | None) -> Coroutine[Any, Any, Any]:
        _refuse()

    async def look_back(self, lease: Lease) -> Question | None:
        _refuse()


def _refuse() -> NoReturn:
    raise NotRunning(
        "ctx.ask needs an event loop to wait on: declare the task with `async def`, without a process"
    )
