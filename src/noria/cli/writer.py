"""Writes lines to a stream whose reader may be slow or gone, and never makes the caller wait.

A worker must not stop because nobody reads its log. Lines wait in a bounded queue for a thread of their own;
what does not fit is dropped, counted, and reported as soon as there is room again.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Final

from noria.model.wording import count

CAPACITY: Final = 10_000
_BATCH: Final = 200


class LineWriter:
    """Lines on their way to a file descriptor.

    Args:
        file: where to write.
        capacity: how many lines may wait.

    Attributes:
        dropped: lines that found no room, in all.
    """

    def __init__(self, file: int, capacity: int = CAPACITY) -> None:
        self._file = file
        self._capacity = capacity
        self._lines: deque[str] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._writing = False
        self._missed = 0
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="noria-writer", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Take a line, without its line break; drop it if there is no room."""
        with self._change:
            if self._closed or len(self._lines) >= self._capacity:
                self.dropped += 1
                self._missed += 1
                return
            if self._missed:
                self._lines.append(
                    f"dropped here: {count(self._missed, 'line')}; whoever reads this is too slow"
                )
                self._missed = 0
            self._lines.append(line)
            self._change.notify()

    def close(self, seconds: float) -> bool:
        """Write what waits, within that many seconds.

        Returns:
            whether all of it was written.
        """
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while batch := self._take():
            data = "".join(f"{line}\n" for line in batch).encode("utf-8", "backslashreplace")
            try:
                while data:
                    data = data[os.write(self._file, data) :]
            except OSError:  # the reader is gone: there is nobody to tell
                return

    def _take(self) -> list[str]:
        with self._change:
            while not self._lines and not self._closed:
                self._change.wait()
            return [self._lines.popleft() for _ in range(min(_BATCH, len(self._lines)))]
