"""Reads a history and says which promises it breaks: a pure function from events to findings, in one pass.

The statements are those that a task system is judged by: nothing lost (I1), nothing made up (I2, I3), fenced
(I4), counted (I5), one holder (I6), legal moves (I7), unique keys (I10), not early (I12), readable (I13),
dead letters complete (I14), cancelled stays cancelled (I17), numbers that agree (I18), paused queues rest (I19);
documents with one winner each, and slots of timers with one job each (I11), which do not overlap (T9);
follow-ups with the success of their parent (C1), what waits for others by their ends (C2), with their values (C3);
event streams in order (I15); everything arrives (V1), nothing is left (V2),
workers work (V3), due jobs start (V4). Safety holds for every beginning of a history; V1 and the rest of I1 need a
last look (`RecordingBackend.look`). Order and limits within a group (I8, I9) and callbacks (I16) will be judged when
there are such things.

    verdict = check(read_history(folder))
    assert not verdict.findings, describe(events, verdict)
"""

from __future__ import annotations

from collections.abc import Sequence

from noria.testing.events import Event, Fault
from noria.testing.facts import Handler
from noria.testing.findings import Duplicate, Finding, Verdict, describe, slice_of
from noria.testing.inquiry import Inquiry, Invariant, Rules
from noria.testing.invariants.arguments import Arguments
from noria.testing.invariants.arrival import Arrival, NothingLeft, OnTime
from noria.testing.invariants.attempts import Attempts, CancelledStays, NotEarly, OnlyEnqueued
from noria.testing.invariants.documents import OnceEach
from noria.testing.invariants.duplicates import Explained
from noria.testing.invariants.fencing import Fenced, OneHolder
from noria.testing.invariants.lineage import Children, Handed, Heirs
from noria.testing.invariants.outcomes import DeadLetters, Earned, Readable
from noria.testing.invariants.pauses import Resting
from noria.testing.invariants.probes import Working
from noria.testing.invariants.records import Moves
from noria.testing.invariants.streams import Streams
from noria.testing.invariants.timers import Timed
from noria.testing.invariants.uniqueness import Unique
from noria.testing.learning import Learner

__all__ = ["Duplicate", "Finding", "Rules", "Verdict", "check", "describe", "slice_of"]

_INVARIANTS = (
    OnlyEnqueued,
    Arguments,
    OneHolder,
    Fenced,
    Attempts,
    NotEarly,
    CancelledStays,
    Moves,
    Earned,
    Readable,
    DeadLetters,
    Streams,
    Unique,
    Resting,
    OnceEach,
    Timed,
    Children,
    Heirs,
    Handed,
    Arrival,
    NothingLeft,
    Working,
    OnTime,
    Explained,
)


def check(events: Sequence[Event], rules: Rules | None = None) -> Verdict:
    """Judge a history whose events are in order of time, as `read_history` gives them."""
    inquiry = Inquiry(rules or Rules())
    invariants: list[Invariant] = [invariant(inquiry) for invariant in _INVARIANTS]
    handlers = _by_fact([*(each.handlers() for each in invariants), Learner(inquiry.known).handlers()])
    handlers.setdefault(Fault, []).append(inquiry.fault)
    nobody: list[Handler] = []
    for event in events:
        for handler in handlers.get(type(event.fact), nobody):
            handler(event, event.fact)
    if events:
        for each in invariants:
            each.finish(events[-1])
    inquiry.verdict.events, inquiry.verdict.jobs = len(events), len(inquiry.known.jobs)
    return inquiry.verdict


def _by_fact(tables: list[dict[type, Handler]]) -> dict[type, list[Handler]]:
    merged: dict[type, list[Handler]] = {}
    for table in tables:
        for kind, handler in table.items():
            merged.setdefault(kind, []).append(handler)
    return merged
