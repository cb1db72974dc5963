"""Ends the process of a worker in bounded time, whatever its handlers left behind.

A thread that never returns, a coroutine that ignores its cancellation or a library's own exit handler must
not keep a drained worker alive: its jobs are fenced and go elsewhere. Exit handlers get a moment; then the
process goes, without tearing down the interpreter under threads that still run.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

GRACE: Final = 2.0
"""Seconds that exit handlers and the loop's own clean-up get."""


class Departure:
    """The end of this process.

    Args:
        flush: writes what is still to be written; bounded.
        leave: ends the process at once with a code; `os._exit`, but for tests.
    """

    def __init__(self, flush: Callable[[], None], leave: Callable[[int], None] = os._exit) -> None:
        self._flush = flush
        self._leave = leave
        self._code: int | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Be the last exit handler, by being registered before all others."""
        atexit.register(self._last)

    def decide(self, code: int) -> None:
        """The process is about to end with this code; if it does not do so by itself, it is made to."""
        self._code = code
        self.limit(code, GRACE)

    def limit(self, code: int, seconds: float) -> None:
        """If the process still lives in so many seconds, end it with this code."""
        timer = threading.Timer(seconds, self.now, (code,))
        timer.daemon = True
        timer.start()

    def now(self, code: int) -> None:
        """End here: flush, and leave."""
        with self._lock:  # the first one to come says the code
            self._flush()
            self._leave(code)

    def _last(self) -> None:
        if self._code is None:
            self._flush()
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        self.now(self._code)
