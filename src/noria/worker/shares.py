"""How a lane divides its room among queues: deficit round robin, by weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from noria.backends.contract import Want
from noria.model.job import Lane, Lease

_SPECK: Final = 1e-9
"""What sums of fractions may be off."""


class Shares:
    """What each queue has coming. A queue that leaves its share gets no credit for it: the others have it at once.

    Args:
        weights: the queues, and by how much the share of one is larger than that of another.
    """

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = dict(sorted(weights.items()))
        self._sum = sum(self._weights.values())
        self._credit = dict.fromkeys(self._weights, 0.0)
        self._coming = self._credit
        self._planned: dict[str, int] = {}

    def wants(self, lane: Lane, now: int, ahead: int, *, suspect: bool) -> list[Want]:
        """One want for each queue, those first that have most coming.

        Every queue is asked, however little room there is: to wait at an empty one would be to overlook the others,
        and what a want of nothing finds is taken if the others leave room.
        """
        room = now + ahead
        self._coming = {
            queue: self._credit[queue] + room * weight / self._sum for queue, weight in self._weights.items()
        }
        self._planned = self._plan(room)
        order = sorted(self._weights, key=lambda queue: (-self._planned[queue], -self._coming[queue]))
        wants = []
        for queue in order:
            share = self._planned[queue]
            begin = -(-now * share // room) if room else 0
            wants.append(Want(queue, begin, share - begin, suspect, lane))
        return wants

    def _plan(self, room: int) -> dict[str, int]:
        """Whole jobs out of the credits: as many as each has, and the rest to those that have most left."""
        planned = {queue: min(room, max(0, int(credit + _SPECK))) for queue, credit in self._coming.items()}
        left = room - sum(planned.values())
        rests = sorted(planned, key=lambda queue: planned[queue] - self._coming[queue])
        for queue in rests[: max(0, left)]:
            planned[queue] += 1
        return planned

    def given(self, leases: Iterable[Lease]) -> None:
        """So much came of the last wants. Wants that were never answered have changed nothing."""
        came = Counter(lease.queue for lease in leases)
        for queue, planned in self._planned.items():
            rest = self._coming[queue] - min(planned, came[queue])
            # If it had no more, what it left is not kept for it, or it would flood the others later.
            self._credit[queue] = rest if came[queue] >= planned else min(0.0, rest)
