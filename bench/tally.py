"""What workers tell the parent while they work: a few numbers in a file that both have mapped.

A handler marks its end here, so that the rate does not depend on how a contestant keeps its records, and so
that nobody has to ask the store, which would disturb what is measured. Times are nanoseconds since the epoch.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator, Sequence
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
HELD: Final = 8
_HOLD: Final = 60.0
"""Seconds after which a handler that is held goes on by itself."""
_SIZE: Final = 4096

Check = Callable[[], None]


def _nothing() -> None:
    """For those who have nothing to check."""


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
        if self.numbers[HELD]:
            self._hold()
        numbers, now = self.numbers, time.time_ns()
        if not numbers[FIRST]:
            numbers[FIRST], numbers[TURNS_BEFORE] = now, numbers[TURNS]
        numbers[LAST] = now
        numbers[COUNT] += 1

    def begin(self) -> None:
        """A job has begun; only the first one counts."""
        if not self.numbers[BEGUN]:
            self.numbers[BEGUN] = time.time_ns()

    def _hold(self) -> None:
        """Keep the thread in its first handler, so that several workers can begin at the same moment."""
        self.begin()
        end = time.monotonic() + _HOLD
        while self.numbers[HELD] and time.monotonic() < end:
            time.sleep(0.0005)

    def wait_for(self, jobs: int, seconds: float, what: str, check: Check = _nothing) -> None:
        """Look every 2 ms until that many jobs have ended.

        Args:
            check: called now and then; raises if there is nothing to wait for any more.

        Raises:
            TimeoutError: they have not, in that many seconds.
        """
        wait_for_all([self], jobs, seconds, what, check)


def let_go(tallies: Sequence[Tally], seconds: float, check: Check = _nothing) -> int:
    """Wait until a handler of each worker is held, then let all go on.

    Args:
        check: as in `Tally.wait_for`.

    Returns:
        when that was, in nanoseconds since the epoch.

    Raises:
        TimeoutError: a worker did not begin a job in that many seconds.
    """
    for _ in _looks(seconds, check):
        if all(tally.numbers[BEGUN] for tally in tallies):
            break
    else:
        raise TimeoutError(f"a worker did not begin a job within {seconds:g} s")
    for tally in tallies:
        tally.numbers[HELD] = 0
    return time.time_ns()


def wait_for_all(
    tallies: Sequence[Tally], jobs: int, seconds: float, what: str, check: Check = _nothing
) -> None:
    """As `Tally.wait_for`, for the jobs of several workers together."""
    ended = 0
    for _ in _looks(seconds, check):
        if (ended := sum(tally.numbers[COUNT] for tally in tallies)) >= jobs:
            return
    raise TimeoutError(f"{what}: {ended} jobs had ended after {seconds:g} s")


def _looks(seconds: float, check: Check) -> Iterator[None]:
    """Every 2 ms for that many seconds; checks four times a second."""
    end = time.monotonic() + seconds
    due = 0.0
    while (now := time.monotonic()) <= end:
        yield
        if now > due:
            check()
            due = now + 0.25
        time.sleep(0.002)
