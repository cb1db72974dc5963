"""I19: no lease that is asked for while a queue is surely paused takes a job of it."""

from __future__ import annotations

from msgspec import Struct

from noria.testing.events import Event, Fault, Leased, SteerEnd, SteerInvoke
from noria.testing.facts import SKEW, Handler
from noria.testing.inquiry import Inquiry, Invariant


class Rest(Struct, frozen=True):
    """A pause that surely holds: since when by the monotonic clock, and until when by the wall clock."""

    since: float
    until: float | None


class Resting(Invariant):
    """I19."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._rests: dict[str, Rest] = {}
        self._resuming: dict[str, int] = {}

    def handlers(self) -> dict[type, Handler]:
        return {
            SteerInvoke: self._invoked,
            SteerEnd: self._ended,
            Leased: self._leased,
            Fault: self._fault,
        }

    def _invoked(self, event: Event, fact: SteerInvoke) -> None:
        # From here on it may be resumed, or be paused for a shorter time.
        self._rests.pop(fact.queue, None)
        self._resuming[fact.queue] = self._resuming.get(fact.queue, 0) + 1

    def _ended(self, event: Event, fact: SteerEnd) -> None:
        if fact.end == "info":
            return  # it may be done at any time from now on
        self._resuming[fact.queue] -= 1
        if fact.pause and fact.end == "ok" and not self._resuming[fact.queue]:
            self._rests[fact.queue] = Rest(event.mono, fact.until)

    def _fault(self, event: Event, fact: Fault) -> None:
        """The clock jumps: pauses that were over by the time that it showed may have been forgotten."""
        if fact.what == "clock":
            self._rests = {
                queue: rest
                for queue, rest in self._rests.items()
                if rest.until is None or event.wall < rest.until - SKEW
            }

    def _leased(self, event: Event, fact: Leased) -> None:
        rest = self._rests.get(fact.queue)
        if rest is None or fact.since <= rest.since:
            return
        if rest.until is None or event.wall < rest.until - SKEW:
            text = f"it was leased from queue {fact.queue!r}, which was paused"
            self._inquiry.found("I19", event, text, fact.id, sessions=(fact.session,))
