"""How many jobs wait, and how many have come in here since they were counted: what a key's quota is held against."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from noria.backends.contract import Counts
from noria.clock import Clock
from noria.front.principal import Principal
from noria.front.problem import Problem
from noria.model.state import State
from noria.model.wording import count

FRESH: Final = 1.0
"""Seconds for which counted jobs stay counted."""
_WAITING: Final = (State.SCHEDULED, State.QUEUED, State.RETRYING, State.PARKED)


class Ticket:
    """Jobs on their way into a queue. `stored`: how many of them have to be taken as there."""

    __slots__ = ("stored",)

    def __init__(self, jobs: int = 0) -> None:
        self.stored = jobs


class Intake:
    """Counts jobs once a second at most, and in between what comes in at this front.

    Args:
        look: counts the jobs in the store.
    """

    def __init__(self, look: Callable[[], Awaitable[Counts]], clock: Clock) -> None:
        self._look = look
        self._clock = clock
        self._counts: Counts | None = None
        self._until = float("-inf")
        self._counting = asyncio.Lock()
        self._coming: Counter[str] = Counter()
        self._come: Counter[str] = Counter()

    async def counts(self) -> Counts:
        """Queues and workers in numbers, not older than a second.

        Raises:
            BackendError: they could not be counted.
        """
        async with self._counting:
            if self._counts is None or self._old:
                before, self._come = self._come, Counter()
                try:
                    self._counts = await self._look()
                except BaseException:
                    self._come.update(before)
                    raise
                self._until = self._clock.monotonic() + FRESH
            return self._counts

    @property
    def _old(self) -> bool:
        return self._clock.monotonic() >= self._until

    @asynccontextmanager
    async def admit(self, who: Principal, queue: str, jobs: int = 1) -> AsyncIterator[Ticket]:
        """Let so many more jobs into a queue. They count as there, unless the ticket is told otherwise.

        Raises:
            Problem: the key may not have them wait there.
        """
        await self._check(who, queue, jobs)
        ticket = Ticket(jobs)
        self._coming[queue] += jobs  # nothing is awaited between the look and this
        try:
            yield ticket
        finally:
            self._coming[queue] -= jobs
            if not self._coming[queue]:
                del self._coming[queue]
            # A count that is out of date is made anew before it is used; it will see them.
            if ticket.stored and (self._counting.locked() or not self._old):
                self._come[queue] += ticket.stored

    async def _check(self, who: Principal, queue: str, jobs: int) -> None:
        if who.depth is None or not jobs:
            return
        if self._waiting(await self.counts(), queue) + jobs > who.depth:
            raise Problem(
                "queue_full",
                f"queue {queue!r} would hold more than {count(who.depth, 'waiting job')}, and this key may have no "
                "more there",
                retry_after=1,
            )

    def _waiting(self, counts: Counts, queue: str) -> int:
        """How many jobs of a queue have yet to run, those on their way included."""
        found = counts.queues.get(queue)
        known = sum(found.states.get(state, 0) for state in _WAITING) if found is not None else 0
        return known + self._coming[queue] + self._come[queue]

    def age(self, queue: str) -> float:
        """Seconds for which the oldest job of a queue that could run has waited, when they were last counted."""
        found = None if self._counts is None else self._counts.queues.get(queue)
        return (found.oldest_ready or 0.0) if found is not None else 0.0

    @property
    def stale(self) -> bool:
        """Whether it is time to count again, and nobody does."""
        return self._old and not self._counting.locked()
