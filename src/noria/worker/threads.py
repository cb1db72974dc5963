"""A bounded pool of threads for `def` handlers.

Threads are daemons: a handler that never returns must not keep its process from ending, since the job is
fenced and goes elsewhere. Results come back to the loop with one wake-up for all that are ready.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from noria.aio import Breather

Work = Callable[[], None]
"""A piece of work; it catches whatever its handler raises."""
Done = Callable[[], None]
"""Called on the loop, once, after the work has ended."""


class Threads(Protocol):
    """Where `def` handlers run."""

    def submit(self, work: Work, done: Done) -> None:
        """Run `work` in a thread, then `done` on the loop. The caller bounds how many run at once."""
        ...

    def close(self) -> None:
        """Let idle threads end; busy ones end with their work or with the process."""
        ...


class ThreadPool:
    """Threads made when they are first needed, never more than were ever busy at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, breather: Breather, name: str) -> None:
        self._loop = loop
        self._breather = breather
        self._name = name
        self._work: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
        self._done: deque[Done] = deque()
        self._lock = threading.Lock()
        self._waking = False
        self._threads = 0
        self._busy = 0

    def submit(self, work: Work, done: Done) -> None:
        self._breather.hold()
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            thread = threading.Thread(target=self._serve, name=f"{self._name}-{self._threads}", daemon=True)
            thread.start()
        self._work.put((work, done))

    def close(self) -> None:
        for _ in range(self._threads):
            self._work.put(None)

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            work, done = item
            # A fresh context each time: what one job sets, the next must not see.
            contextvars.Context().run(work)
            self._hand_back(done)

    def _hand_back(self, done: Done) -> None:
        with self._lock:
            self._done.append(done)
            if self._waking:
                return
            self._waking = True
        try:
            self._loop.call_soon_threadsafe(self._collect)
        except RuntimeError:
            return  # The loop has closed: the process is ending, and the session's end settles the job.

    def _collect(self) -> None:
        with self._lock:
            self._waking = False
            ready, self._done = self._done, deque()
        for done in ready:
            self._busy -= 1
            self._breather.release()
            done()
