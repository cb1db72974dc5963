"""What workers tell the parent while they work: a few numbers in a file that both have mapped.

A handler marks its end here, so that the rate does not depend on how a contestant keeps its records, and so
that nobody has to ask the store, which would disturb what is measured. Times are nanoseconds since the epoch.
"""

from __future__ import annotations

import mmap
import time
from pathlib import Path
from typing import Final

COUNT: Final = 0
FIRST: Final = 1
LAST: Final = 2
BEGUN: Final = 3
CRUNCHING: Final = 4
STOP: Final = 5
TURNS: Final = 6
TURNS_BEFORE: Final = 7
_SIZE: Final = 4096


class Tally:
    """The mapped numbers; one thread at a time marks. Without a path nobody else sees them."""

    def __init__(self, path: Path | None) -> None:
        if path is None:
            self._map = mmap.mmap(-1, _SIZE)
        else:
            with path.open("a+b") as file:
                file.truncate(_SIZE)
                self._map = mmap.mmap(file.fileno(), _SIZE)
        self.numbers = memoryview(self._map).cast("q")

    def mark(self) -> None:
        """A job has ended."""
        numbers, now = self.numbers, time.time_ns()
        if not numbers[FIRST]:
            numbers[FIRST], numbers[TURNS_BEFORE] = now, numbers[TURNS]
        numbers[LAST] = now
        numbers[COUNT] += 1

    def begin(self) -> None:
        """A job has begun; only the first one counts."""
        if not self.numbers[BEGUN]:
            self.numbers[BEGUN] = time.time_ns()

    def wait_for(self, jobs: int, seconds: float, what: str) -> None:
        """Look every 2 ms until that many jobs have ended.

        Raises:
            TimeoutError: they have not, in that many seconds.
        """
        end = time.monotonic() + seconds
        while self.numbers[COUNT] < jobs:
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: {self.numbers[COUNT]} jobs had ended after {seconds:g} s")
            time.sleep(0.002)
