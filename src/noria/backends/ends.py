"""Which ends of starts a store can record, and what it records in place of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from noria.model.job import NewJob, Receipt
from noria.model.outcome import Failure, Outcome
from noria.model.settlement import Settlement
from noria.model.state import Event, State, legal

_EVENTS: Final[dict[State, Event]] = {
    State.SUCCEEDED: "succeed",
    State.FAILED: "fail",
    State.RETRYING: "retry",
    State.SCHEDULED: "snooze",
    State.QUEUED: "release",
    State.PARKED: "park",
    State.CANCELLED: "cancel",
    State.EXPIRED: "expire",
}

_POSSIBLE: Final = frozenset(state for state, event in _EVENTS.items() if legal(State.RUNNING, event, state))

_FURTHEST: Final = 1e12
"""Seconds that a row can hold with room to spare: 31,000 years."""


def storable(end: Settlement, max_body: int, flaw: str | None = None) -> Settlement:
    """The end itself, or the failure that is recorded because the end cannot be; `flaw`: why, if that is known."""
    flaw = flaw or _flaw(end, max_body)
    if flaw is None:
        return end
    failure = Failure.of("result", f"its end cannot be recorded: {flaw}")
    return Settlement(end.id, end.starts, Outcome.FAILED, State.FAILED, failure=failure)


def _flaw(end: Settlement, max_body: int) -> str | None:
    if end.state not in _POSSIBLE:
        return f"no start can end as {end.state!r:.40}"
    # Written so that NaN fails as well.
    if not (0 <= end.began < _FURTHEST and abs(end.delay) < _FURTHEST):
        return f"it began at {end.began:g} and waits for {end.delay:g} seconds, which no clock can tell"
    if not 0 <= end.close < _FURTHEST:
        return f"it closes its group until {end.close:g}, which no clock can tell"
    if end.state is State.SUCCEEDED:
        return _flaw_of_result(end, max_body)
    try:
        msgspec.json.encode(end.failure)
    except ValueError as error:
        return f"the text of its failure is not text: {error}"
    return None


def _flaw_of_result(end: Settlement, max_body: int) -> str | None:
    if end.result is not None and len(end.result) > max_body:
        return f"its result has {len(end.result)} bytes, and {max_body} is the limit"
    if end.codec != "json" and not (end.codec.isascii() and end.codec.isprintable()):
        return f"{end.codec!a:.40} names no codec"
    return None


def asking(ends: Sequence[Settlement]) -> list[tuple[int, Settlement]]:
    """The ends that have follow-ups, each with its place: successes alone may."""
    return [(n, end) for n, end in enumerate(ends) if end.follow_ups and end.state is State.SUCCEEDED]


def follow_up_flaw(job: NewJob, receipt: Receipt) -> str:
    """Why an end cannot be recorded with a follow-up that was rejected."""
    return f"its follow-up of task {job.task!a:.150}: {receipt.why}"
