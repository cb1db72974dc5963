"""Where a lease begins to read: at the front of a line, or, if that has become slow, where the last one found jobs.

As long as any transaction of the database is open, however foreign, what was deleted since it began cannot be cleaned
away, and whoever reads a line from its front steps over all of it. Where the server knows of many such rows and a look
has in fact been slow, most looks begin further on. A job that comes before that place then waits for the next look
at the front: at most a few times as long as one such look takes.
"""

from __future__ import annotations

from typing import Final

from noria.backends.sql.choice import Line
from noria.clock import Clock
from noria.model.job import Lane

SLOW: Final = 0.004
"""Seconds that a look at the front may take before anything is asked."""
MANY: Final = 10_000
"""Deleted rows that are still there; fewer are never the reason."""
PAUSE: Final = 5.0
"""For how many times as long as a look at the front took none is made again: they cost a sixth of the time."""

NEWS: Final = 1.0
"""Seconds after which a server may know of many more deleted rows: it counts no sooner."""

FRONT: Final = -(1 << 63)
"""Before every rank."""

Place = tuple[str, Lane]
"""A queue and a lane."""


class Marks:
    """What one connection remembers of the lines that it leases from."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ranks: dict[Place, int] = {}
        self._front_again = self._ask_again = float("-inf")

    @property
    def now(self) -> float:
        """Seconds of a clock that only goes forward."""
        return self._clock.monotonic()

    @property
    def skipping(self) -> bool:
        """Whether a look may begin at the marks."""
        return self.now < self._front_again

    def of(self, place: Place) -> int:
        """The rank from which a line is read while `skipping`."""
        return self._ranks.get(place, FRONT)

    def found(self, place: Place, line: Line) -> None:
        """A look at a line has found this."""
        if line.ready:
            self._ranks[place] = line.ready[0][0]

    def asks(self, seconds: float) -> bool:
        """Whether to ask for deleted rows, after a look at the front that took so long."""
        return seconds > SLOW and self.now >= self._ask_again

    def told(self, dead: int, seconds: float) -> None:
        """So many deleted rows are still there, and a look at the front has taken so long."""
        if dead > MANY:
            self._front_again = self.now + PAUSE * seconds
        else:
            self._ask_again = self.now + NEWS
