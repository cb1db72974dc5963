"""Which ends of starts a store can record, and what it records in place of the others."""

from __future__ import annotations

from typing import Final

import msgspec

from noria.model.outcome import Failure, Outcome, Settlement
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


def storable(end: Settlement, max_body: int) -> Settlement:
    """The end itself, or the failure that is recorded because the end cannot be."""
    flaw = _flaw(end, max_body)
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
