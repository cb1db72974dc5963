"""What a history tells of timers: how they stood when they were first seen and at last, and which were late."""

from __future__ import annotations

from msgspec import Struct

from noria.model.schedule import CatchUp, Overlap, What
from noria.testing.told import Told


class Slots(Struct, frozen=True):
    """What became of some slots in a row, as the schedule itself tells."""

    what: What
    first: float
    last: float


class Stood(Told, frozen=True, tag="schedule.stood"):
    """How a schedule stood.

    Attributes:
        period: seconds between its slots.
        last: slots up to this one have been dealt with.
        left_out: how many slots were skipped or missed, those of pauses included.
        waiting: slots that are still to run.
        log: what became of the latest slots, newest first.
        rested: whether a pause holds.
        final: it belongs to the last look.
    """

    name: str
    period: float
    overlap: Overlap
    catch_up: CatchUp
    last: float
    left_out: int = 0
    waiting: tuple[float, ...] = ()
    log: tuple[Slots, ...] = ()
    rested: bool = False
    final: bool = False


class Late(Told, frozen=True, tag="schedule.late"):
    """Nobody deals with a slot of a schedule that came long ago."""

    name: str
