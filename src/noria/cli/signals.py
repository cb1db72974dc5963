"""SIGTERM and Ctrl-C as a worker wants them: once to drain, again to stop now, a third time to be gone.

Signals are read by a thread of their own from the pipe that the interpreter's C handler writes to, so that
neither a blocked event loop nor a handler stuck in C can keep the worker from hearing them.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

ECHO: Final = 0.3
"""Seconds within which a second signal is taken for an echo: what starts a worker (timeout, uv run, a container's
init) often passes on what the terminal has sent to all. Nobody presses Ctrl-C twice as fast."""

Heard = Callable[[int, int], None]
"""(signal number, how many so far); called from a thread."""


class Presses:
    """Counts signals as people mean them, echoes left out."""

    def __init__(self) -> None:
        self._count = 0
        self._last = float("-inf")

    def press(self, now: float) -> int:
        """Which press a signal is that comes at `now`, from 1; 0 for an echo."""
        if now - self._last < ECHO:
            return 0
        self._last = now
        self._count += 1
        return self._count


def past_asking() -> None:
    """Everything is done: a signal while the interpreter ends would make an orderly end look like a death."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


class Ears:
    """Counts the signals that ask this process to stop.

    Args:
        heard: told of each.
        monotonic: seconds that never go back.
        others: what to do, from the thread, when another signal comes; one that has a handler is left alone.
    """

    def __init__(
        self,
        heard: Heard,
        monotonic: Callable[[], float],
        others: Mapping[signal.Signals, Callable[[], None]] | None = None,
    ) -> None:
        self._heard = heard
        self._monotonic = monotonic
        self._others = dict(others or {})
        self._presses = Presses()
        self._lock = threading.Lock()
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)

        self._before: dict[int, Any] = {}
        self._pipe = -1

    def open(self) -> None:
        """Begin to listen; from the main thread, and after the event loop has taken the pipe for itself."""
        threading.Thread(target=self._listen, name="noria-signals", daemon=True).start()
        free = [each for each in self._others if signal.getsignal(each) is signal.SIG_DFL]
        self._before = {number: signal.signal(number, self._caught) for number in (*STOPPING, *free)}
        self._pipe = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)

    def close(self) -> None:
        """Put everything back. A process that is about to end need not."""
        signal.set_wakeup_fd(self._pipe)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._far.close()

    def _listen(self) -> None:
        while data := self._near.recv(64):
            for number in data:
                self._count_one(number)
        self._near.close()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        """In the main thread, after the C handler. If somebody took the pipe, take it back and count here."""
        taken = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        if taken != self._far.fileno():
            self._count_one(number)

    def _count_one(self, number: int) -> None:
        if number in self._others:
            self._others[signal.Signals(number)]()
        if number not in STOPPING:
            return
        with self._lock:
            count = self._presses.press(self._monotonic())
        if count:
            self._heard(number, count)
