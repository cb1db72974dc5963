"""Heads of jobs: all that changes with the state of a job, packed. The same layout stands in `lua/lib/heads.lua`."""

from __future__ import annotations

import math
from struct import Struct as Layout
from typing import Final

from msgspec import Struct, structs

from noria.model.limits import SUSPECT_AT
from noria.model.outcome import Tally
from noria.model.state import State

NEVER: Final = math.inf
"""A time or duration that there is none of."""

LIVELY, WAITING, TIMED, GIVEN_UP = 1, 2, 3, 4
"""How a job has its unique key: as long as it lives; until its first lease; until a time; no more."""

ERASED: Final = 20
"""Stored in place of a state where a record was erased: for a while it still answers those who repeat a call."""

UNSUCCESSFUL, FOLLOWS = 8, 16
"""Parts of `kin`."""

ROOMY: Final = 2
"""As `taken` of a job that is to be stored: it has the room of one that makes way for it."""

_LAYOUT: Final = Layout("<BBBBBBBBIIddddddddiIIIIII")
_TEXTS: Final = 7
_pack, _unpack, _size = _LAYOUT.pack, _LAYOUT.unpack_from, _LAYOUT.size


class Head(Struct, gc=False):
    """A head: numbers in the order of the layout, then texts. Times and durations are in milliseconds.

    Attributes:
        keyed: how it has its unique key, as above; 0 if it has none.
        taken: its last start was taken from its session; of a job that is to be stored: it is let into a full queue.
        kin: a sum: 1 for a follow-up of another job; 2 if it is linked to jobs which stand for its follow-ups; 4 if
            others wait for it; 8 if it was erased and had not succeeded; 16 if it is to wait for others.
        aged: while it waits its queue lets it become only so old; the set `lapsing` says until when.
        session: of its last start, in decimal; empty if it never was leased.
        reply, unique, correlation: empty if there is none.
        tie: its group and needs, as `ties` writes them; empty if it has neither.
    """

    state: int = 0
    lane: int = 0
    dead: int = 0
    cancelling: int = 0
    keyed: int = 0
    taken: int = 0
    kin: int = 0
    aged: int = 0
    starts: int = 0
    version: int = 1
    began: float = NEVER
    finished: float = NEVER
    due: float = NEVER
    rank: float = 0.0
    created: float = 0.0
    expires: float = NEVER
    deadline: float = NEVER
    keep: float = NEVER
    priority: int = 0
    attempts: int = 1
    crash_budget: int = 1
    spent: int = 0
    crashes: int = 0
    releases: int = 0
    snoozes: int = 0
    session: str = ""
    queue: str = ""
    task: str = ""
    reply: str = ""
    unique: str = ""
    correlation: str = ""
    tie: str = ""

    @property
    def begun(self) -> bool:
        """Whether a start of it counts in any way, so that it need not start by `expires` any more."""
        return self.spent + self.crashes + self.snoozes > 0

    @property
    def untouched(self) -> bool:
        """Whether nothing has happened to it since it was queued."""
        return self.spent + self.crashes + self.releases + self.snoozes == 0

    @property
    def tally(self) -> Tally:
        """Its counters."""
        return Tally(self.spent, self.attempts, self.crashes, self.crash_budget, self.releases, self.snoozes)

    @property
    def suspect(self) -> bool:
        """Whether it runs apart from other suspects."""
        return self.crashes >= SUSPECT_AT


def texts(*values: str) -> bytes:
    """The texts at the end of a head.

    Raises:
        ValueError: one of them cannot stand there.
    """
    packed = "\0".join((*values, "")).encode()
    if packed.count(b"\0") != _TEXTS:
        raise ValueError("one of its texts has a NUL in it")
    return packed


def pack(head: Head) -> bytes:
    """A head as it is stored."""
    values = structs.astuple(head)
    return _pack(*values[:-_TEXTS]) + texts(*values[-_TEXTS:])


def unpack(packed: bytes) -> Head:
    """A stored head."""
    return Head(*_unpack(packed), *packed[_size:-1].decode().split("\0"))


def is_live(head: Head) -> bool:
    """Whether it has not ended."""
    return head.state < State.SUCCEEDED
