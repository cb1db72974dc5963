"""What a handler gets for a write in mid-run, and who makes these writes for it."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, Protocol

from noria.model.asked import Notify
from noria.model.job import Lease
from noria.model.mark import Mark
from noria.model.question import Question


class Writing:
    """A write that was begun. In `async def` handlers: `await` it. Elsewhere it is done already."""

    __slots__ = ("_done",)

    def __init__(self, done: Any = None) -> None:
        self._done = done

    def __await__(self) -> Generator[Any, None, None]:
        if self._done is not None:
            yield from self._done.__await__()


class Scribe(Protocol):
    """Makes the writes of handlers. Its methods may be called in the thread of any handler."""

    def jot(self, mark: Mark) -> None:
        """Have a mark recorded soon; nobody waits for it."""
        ...

    def write(self, mark: Mark) -> Writing:
        """Have a mark recorded now; blocks if the handler is not on the loop. Raises `Stopped` if it is refused."""
        ...

    def ask(self, lease: Lease, question: Question, notify: Notify | None) -> Coroutine[Any, Any, Any]:
        """Ask a question, have `notify` told, and wait for the answer. Raises `NotRunning` where nobody can wait."""
        ...

    async def look_back(self, lease: Lease) -> Question | None:
        """The answered question of an earlier start, if there is one; it is closed."""
        ...
