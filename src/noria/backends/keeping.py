"""The synchronous part of the contract: what a thread of a worker's may do while the event loop does not turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from noria.backends.terms import Fence, Orders, Verdict, Vitals
from noria.ids import SessionId
from noria.model.settlement import Settlement


class Keeper(Protocol):
    """The synchronous, independent way to do a session's duties while the event loop cannot turn.

    For one thread. Every call may raise `Unavailable` or `Unknown`, and may be repeated.
    """

    def renew(self, session: SessionId, vitals: Vitals) -> Orders:
        """As `Sessions.renew`."""
        ...

    def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As `Queue.settle`; who asks again on the loop is told ALREADY."""
        ...

    def recall(self, session: SessionId, known: Collection[Fence], why: str) -> list[Fence]:
        """As `Queue.recall`, but says which starts were given back; `why` goes into their log."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
