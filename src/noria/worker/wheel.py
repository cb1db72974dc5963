"""Time limits of running jobs: one timer for all of them, not one each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T", bound=Hashable)

TICK: Final = 0.02


class Wheel(Generic[T]):
    """Calls `expired` for each entry once its time has come, up to one tick late, never early.

    Adding and removing cost a dictionary access; the loop is woken only while something is on the wheel.

    Args:
        loop: whose time counts.
        expired: called with the entry, which is off the wheel by then.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[T], None]) -> None:
        self._loop = loop
        self._expired = expired
        self._buckets: dict[int, dict[T, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0

    def add(self, when: float, entry: T) -> int:
        """Put an entry on the wheel.

        Args:
            when: the loop's time at which it expires.

        Returns:
            the bucket, for `remove`.
        """
        bucket = int(when / TICK) + 1
        self._buckets.setdefault(bucket, {})[entry] = None
        if self._timer is None or bucket < self._next:
            self._arm(bucket)
        return bucket

    def remove(self, bucket: int, entry: T) -> None:
        """Take an entry off; one that has expired already is no error."""
        entries = self._buckets.get(bucket)
        if entries is not None:
            entries.pop(entry, None)
            if not entries:
                del self._buckets[bucket]

    def close(self) -> None:
        """Stop; nothing expires any more."""
        self._buckets.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, bucket: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = bucket
        self._timer = self._loop.call_at(bucket * TICK, self._turn)

    def _turn(self) -> None:
        self._timer = None
        now = self._loop.time()
        for bucket in sorted(key for key in self._buckets if key * TICK <= now):
            # One by one: what an entry does as it expires may take the next one off.
            while entries := self._buckets.get(bucket):
                entry = next(iter(entries))
                self.remove(bucket, entry)
                self._expired(entry)
        if self._buckets:
            self._arm(min(self._buckets))
