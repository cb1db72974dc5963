"""What an end makes of a row: decisions, without I/O. Used for settles, ended sessions, and recalled leases."""

from __future__ import annotations

from typing import Any, Final

from noria.backends.sqlite.rows import Running, encode
from noria.backends.sqlite.settings import Settings
from noria.backends.sqlite.units import earlier, millis
from noria.model.job import Start, rank
from noria.model.outcome import End, Failure, Outcome, Settlement
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

_CANCELLED: Final = Failure.of("cancelled", "its cancellation was asked for while it ran")


def storable(end: Settlement, settings: Settings) -> Settlement:
    """The end itself, or the failure that is recorded because the end cannot be."""
    flaw = _flaw(end, settings)
    if flaw is None:
        return end
    failure = Failure.of("result", f"its end cannot be recorded: {flaw}")
    return Settlement(end.id, end.starts, Outcome.FAILED, State.FAILED, failure=failure)


def _flaw(end: Settlement, settings: Settings) -> str | None:
    if end.state not in _POSSIBLE:
        return f"no start can end as {end.state!r:.40}"
    # Written so that NaN fails as well.
    if not (0 <= end.began < _FURTHEST and abs(end.delay) < _FURTHEST):
        return f"it began at {end.began:g} and waits for {end.delay:g} seconds, which no clock can tell"
    if end.state is State.SUCCEEDED:
        return _flaw_of_result(end, settings)
    try:
        encode(end.failure)
    except ValueError as error:
        return f"the text of its failure is not text: {error}"
    return None


def _flaw_of_result(end: Settlement, settings: Settings) -> str | None:
    if end.result is not None and len(end.result) > settings.max_body:
        return f"its result has {len(end.result)} bytes, and {settings.max_body} is the limit"
    if end.codec != "json" and not (end.codec.isascii() and end.codec.isprintable()):
        return f"{end.codec!a:.40} names no codec"
    return None


def respecting_cancel(end: End, row: Running) -> End:
    """A job whose cancellation was asked for does not run again."""
    if row.cancelling and not end.state.final:
        return End(end.outcome, State.CANCELLED, failure=_CANCELLED)
    return end


def row_after(
    end: End, row: Running, *, now: int, settings: Settings, session: int, worker: str, began: float
) -> tuple[Any, ...]:
    """The row of `settle.sql` for one end."""
    spent = row.spent + (end.outcome in (Outcome.FAILED, Outcome.TIMED_OUT))
    crashes = row.crashes + (end.outcome is Outcome.CRASHED)
    releases = row.releases + (end.outcome is Outcome.RELEASED and end.state is not State.PARKED)
    snoozes = row.snoozes + (end.outcome is Outcome.SNOOZED)
    due, place = _place(end, row, now)
    dead = end.state is State.FAILED
    begun = spent + crashes + snoozes > 0
    return (
        row.id,
        end.state,
        spent,
        crashes,
        releases,
        snoozes,
        place,
        due,
        row.deadline if begun else earlier(row.expires, row.deadline),
        dead,
        now if end.state.final else None,
        now + millis(settings.keep_dead if dead else settings.keep_succeeded) if end.state.final else None,
        _reason(end),
        encode(Start(row.starts, end.outcome, began, now / 1000, worker, end.failure)),
        session,
    )


def _place(end: End, row: Running, now: int) -> tuple[int, int]:
    """When it may run again, and its rank; a job that was given back keeps its old place."""
    if end.state in (State.RETRYING, State.SCHEDULED):
        due = now + max(0, millis(end.delay))
        return due, rank(due / 1000, row.priority)
    return row.due, row.rank


def _reason(end: End) -> str | None:
    """Being given back is no failure: what failed before stays on the record."""
    if end.failure is None or (end.state is State.QUEUED and end.outcome is Outcome.RELEASED):
        return None
    return encode(end.failure)
