"""How many jobs to hold ready beyond the slots that are free."""

from __future__ import annotations

from typing import Final

from noria.model.limits import MAX_BATCH

HORIZON: Final = 0.05
"""Only jobs that should start within this many seconds are leased ahead of a free slot."""


class Pace:
    """How fast jobs end, and how long a lease takes: two moving averages."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._trip = 0.001

    def ended(self, jobs: int, seconds: float) -> None:
        """So many jobs ended in so many seconds."""
        if seconds > 0:
            self._rate += (jobs / seconds - self._rate) * min(1.0, seconds * 20)

    def leased(self, seconds: float) -> None:
        """A lease that found jobs took so long."""
        self._trip += (min(seconds, HORIZON) - self._trip) * 0.2

    @property
    def ahead(self) -> int:
        """Jobs to hold beyond the free slots: as many as end during two round trips."""
        return min(int(self._rate * min(2 * self._trip, HORIZON)), MAX_BATCH)
