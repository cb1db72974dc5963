"""What an end makes of a row: decisions, without I/O. Used for settles, ended sessions, and recalled leases."""

from __future__ import annotations

from typing import Any, Final

from noria.backends.sql.bounds import Bounds
from noria.backends.sql.rows import Running, encode
from noria.backends.sql.settings import Settings
from noria.backends.units import millis
from noria.model.fingerprint import fingerprint
from noria.model.job import Start
from noria.model.outcome import End, Failure, Outcome
from noria.model.state import State

_CANCELLED: Final = "its cancellation was asked for while it ran"


def respecting_cancel(end: End, row: Running) -> End:
    """A job whose cancellation was asked for does not run again."""
    if row.cancel is not None and not end.state.final:
        return End(end.outcome, State.CANCELLED, failure=Failure.of("cancelled", row.cancel or _CANCELLED))
    return end


def row_after(
    end: End,
    row: Running,
    bounds: Bounds,
    *,
    now: int,
    settings: Settings,
    session: int,
    worker: str,
    began: float,
) -> tuple[Any, ...]:
    """The row of `settle.sql` for one end."""
    spent = row.spent + (end.outcome in (Outcome.FAILED, Outcome.TIMED_OUT))
    crashes = row.crashes + (end.outcome is Outcome.CRASHED)
    releases = row.releases + (end.outcome is Outcome.RELEASED and end.state is not State.PARKED)
    snoozes = row.snoozes + (end.outcome is Outcome.SNOOZED)
    due, place = _place(end, row, bounds, now)
    dead = end.state is State.FAILED
    begun = spent + crashes + snoozes > 0
    reason = _reason(end)
    return (
        row.id,
        end.state,
        spent,
        crashes,
        releases,
        snoozes,
        place,
        due,
        bounds.lapse(due, row.expires, row.deadline, begun=begun),
        dead,
        now if end.state.final else None,
        now + millis(settings.keep_dead if dead else settings.keep_succeeded) if end.state.final else None,
        reason and encode(reason),
        encode(Start(row.starts, end.outcome, began, now / 1000, worker, end.failure)),
        session,
        reason and fingerprint(row.task, reason),
    )


def _place(end: End, row: Running, bounds: Bounds, now: int) -> tuple[int, int]:
    """When it may run again, and its rank; a job that was given back keeps its old place."""
    if end.state in (State.RETRYING, State.SCHEDULED):
        due = now + max(0, millis(end.delay))
        return due, bounds.rank(due, row.priority)
    return row.due, row.rank


def _reason(end: End) -> Failure | None:
    """Being given back is no failure: what failed before stays on the record."""
    given_back = end.state is State.QUEUED and end.outcome is Outcome.RELEASED
    return None if given_back else end.failure
