"""Rates of queues and tasks, from what came and went in the last hour."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from noria.backends.contract import Ledger, Point
from noria.clock import Clock

ENDED: Final = ("succeeded", "failed", "cancelled", "expired")
FRESH: Final = 5.0
"""Seconds for which rates stay as they were read."""
HOUR: Final = 3600.0
_RECENT: Final = 300.0
"""Seconds over which a rate is averaged."""
_MINUTE: Final = 60.0


class Rates(Struct, frozen=True):
    """Jobs a second in the last minutes, and failures in the last hour."""

    came: float
    went: float
    failed: int


class Flows:
    """Knows what came and went lately.

    Args:
        ledger: counts it by the minute.
    """

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._points: list[Point] = []
        self._until = float("-inf")

    async def refresh(self) -> None:
        """Read what came and went, if that was not done just now."""
        now = self._clock.monotonic()
        if now >= self._until:
            self._points = await self._ledger.series(self._clock.wall() - HOUR)
            self._until = now + FRESH

    def rates(self, belongs: Callable[[Point], bool]) -> Rates:
        """The rates of all that belongs to something."""
        points = [point for point in self._points if belongs(point)]
        since = self._clock.wall() - _RECENT
        recent = [point for point in points if point.at > since - _MINUTE]
        span = max(_MINUTE, self._clock.wall() - min((point.at for point in recent), default=since))
        return Rates(
            came=round(_sum(recent, ("arrived",)) / span, 3),
            went=round(_sum(recent, ENDED) / span, 3),
            failed=_sum(points, ("failed",)),
        )


def _sum(points: Iterable[Point], words: Iterable[str]) -> int:
    names = set(words)
    return sum(number for point in points for word, number in point.counts.items() if word in names)
