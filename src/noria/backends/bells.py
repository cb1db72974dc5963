"""What leases know between their calls: whether looking again could find anything.

A worker asks again at once after each lease. If the last one took all that there was, and no hint has come since, the
next look would be in vain, and would stand in the way of the very jobs that were just leased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from noria.aio import Signal
from noria.backends.bus import Bus
from noria.backends.contract import Batch, Hint, Want
from noria.ids import SessionId
from noria.model.job import Lane

MOST: Final = 64
"""Bells that one process keeps; to lose one costs a look."""

_SHORTEST: Final = 0.001


@dataclass(slots=True)
class Haul:
    """What a look at the lines of a store gave: what was leased.

    Attributes:
        all: that was all there was.
        contended: others were just leasing from the same queues, so that another look may find more at once.
    """

    batch: Batch
    all: bool
    contended: bool = False


def lane_payload(lane: int | None) -> bytes:
    """What a hint of work says of its lane; nothing if there is work in several."""
    return b"" if lane is None else b"%d" % lane


class Bells:
    """The bells of one process, by what is leased."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bells: dict[object, Bell] = {}

    def of(self, session: SessionId, wants: Sequence[Want]) -> Bell:
        """The bell of leases that want the same for the same session."""
        key = (session, frozenset((want.queue, want.lane) for want in wants))
        bell = self._bells.get(key)
        if bell is None:
            bell = self._bells[key] = Bell(wants)
            self._bus.add(bell)
            while len(self._bells) > MOST:
                self._bus.remove(self._bells.pop(next(iter(self._bells))))
        return bell

    def close(self) -> None:
        """Hear nothing more."""
        while self._bells:
            self._bus.remove(self._bells.popitem()[1])


class Bell:
    """Rings when there may be work, and knows what the last look has left.

    Attributes:
        dry: the last look has left nothing, and nothing was heard since.
        hopeful: the next look is likely to find something.
    """

    def __init__(self, wants: Sequence[Want]) -> None:
        self.channels = frozenset(f"queue:{want.queue}" for want in wants)
        served = {(f"queue:{want.queue}", lane_payload(want.lane)) for want in wants}
        self._passed_over = {(name, lane_payload(lane)) for name in self.channels for lane in Lane} - served
        self._some = Signal()
        self._left_nothing = self._left_something = False
        self._look_at = float("-inf")

    @property
    def dry(self) -> bool:
        return self._left_nothing and not self._some.is_set()

    @property
    def hopeful(self) -> bool:
        return self._left_something or self._some.is_set()

    def put(self, hint: Hint) -> None:
        """Hear a hint; those of other lanes are passed over."""
        if (hint.channel, hint.payload) not in self._passed_over:
            self._some.set()

    def look(self) -> None:
        """A look begins: what is heard from here on may be news to it."""
        self._left_nothing = self._left_something = False
        self._some.clear()

    def looked(self, haul: Haul, look_at: float) -> None:
        """A look was answered; another is due at that time, hint or not."""
        self._left_nothing, self._look_at = haul.all, look_at
        self._left_something = bool(haul.batch.leases) and not haul.all

    async def heard(self, now: float, until: float) -> None:
        """Wait until another look may find something, but not longer than `until`."""
        await self._some.happened(max(_SHORTEST, min(until, self._look_at) - now))
