"""Time, injected: the only file that asks the system what time it is.

Points in time are seconds since the Unix epoch in UTC, as floats; durations are seconds, as floats.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where a process gets its time from."""

    def wall(self) -> float:
        """Seconds since the epoch. May jump; only good for due times and for people."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only good for durations within one process."""
        ...


class SystemClock:
    """The clock of the machine."""

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def utc(seconds: float) -> datetime:
    """The aware UTC datetime of a point in time given in seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def moment(seconds: float | None) -> str | None:
    """A point in time as REST writes it: RFC 3339 in UTC, to the millisecond."""
    if seconds is None:
        return None
    return utc(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
