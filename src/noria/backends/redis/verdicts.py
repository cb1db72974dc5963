"""What an end makes of a head: decisions, without I/O. Used for settles, ended sessions, and recalled leases."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import structs

from noria.backends.contract import Change
from noria.backends.redis.heads import Head
from noria.backends.redis.settings import Settings
from noria.backends.redis.writes import Seen, Write
from noria.backends.units import millis
from noria.model.fingerprint import fingerprint
from noria.model.flow import Word
from noria.model.job import Start, rank
from noria.model.limits import MAX_LOG
from noria.model.outcome import End, Failure, Outcome
from noria.model.state import State

_CANCELLED: Final = "its cancellation was asked for while it ran"
_COUNTED: Final[dict[State, Word]] = {
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.EXPIRED: "expired",
    State.RETRYING: "retried",
}
"""What is counted when a job comes to these states; success has its own way."""

_encode = msgspec.json.Encoder().encode
_decode_log = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_change = msgspec.json.Decoder(Change).decode


def end_of_start(
    end: End,
    seen: Seen,
    head: Head,
    *,
    now: int,
    settings: Settings,
    worker: str,
    began: float,
    taken: bool = False,
) -> Write:
    """What ends a start. `taken`: the job is taken from its session, which can settle it no more."""
    end = _respecting_cancel(end, seen, head)
    after = _head_after(end, head, now)
    after.taken = int(taken)
    reason = _reason(end)
    parts: dict[str, bytes | bool] = {
        "log": _log(seen.log, Start(head.starts, end.outcome, began, now / 1000, worker, end.failure))
    }
    if reason is not None:
        parts["why"] = _encode(reason)
    dead = end.state is State.FAILED
    return Write(
        seen.id,
        head.version,
        after,
        prune_at=now + millis(settings.keep_dead if dead else settings.keep_succeeded),
        mark=fingerprint(head.task, reason) if dead and reason is not None else "",
        parts=parts,
        words=_happened(end),
        tell=end.state.final,
        wake=not end.state.final and end.state is not State.PARKED and end.delay <= settings.poll,
    )


def finished(seen: Seen, head: Head, state: State, why: Failure, *, now: int, settings: Settings) -> Write:
    """What ends a job that is not running."""
    dead = state is State.FAILED
    after = structs.replace(head, state=int(state), dead=int(dead), finished=float(now))
    return Write(
        seen.id,
        head.version,
        after,
        prune_at=now + millis(settings.keep_dead if dead else settings.keep_succeeded),
        mark=fingerprint(head.task, why) if dead else "",
        parts={"why": _encode(why)},
        words=(_COUNTED[state],),
        tell=True,
    )


def _respecting_cancel(end: End, seen: Seen, head: Head) -> End:
    """A job whose cancellation was asked for does not run again."""
    if head.cancelling and not end.state.final:
        note = "" if seen.change is None else _decode_change(seen.change).note
        return End(end.outcome, State.CANCELLED, failure=Failure.of("cancelled", note or _CANCELLED))
    return end


def _head_after(end: End, head: Head, now: int) -> Head:
    due, place = _place(end, head, now)
    return structs.replace(
        head,
        state=int(end.state),
        spent=head.spent + (end.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)),
        crashes=head.crashes + (end.outcome is Outcome.CRASHED),
        releases=head.releases + (end.outcome is Outcome.RELEASED and end.state is not State.PARKED),
        snoozes=head.snoozes + (end.outcome is Outcome.SNOOZED),
        due=due,
        rank=place,
        dead=int(end.state is State.FAILED),
        cancelling=0,
        finished=float(now) if end.state.final else head.finished,
    )


def _place(end: End, head: Head, now: int) -> tuple[float, float]:
    """When it may run again, and its rank; a job that was given back keeps its old place."""
    if end.state in (State.RETRYING, State.SCHEDULED):
        due = now + max(0, millis(end.delay))
        return due, rank(due / 1000, head.priority)
    return head.due, head.rank


def _reason(end: End) -> Failure | None:
    """Being given back is no failure: what failed before stays on the record."""
    given_back = end.state is State.QUEUED and end.outcome is Outcome.RELEASED
    return None if given_back else end.failure


def _happened(end: End) -> list[Word]:
    words: list[Word] = [_COUNTED[end.state]] if end.state in _COUNTED else []
    return [*words, "crashed"] if end.outcome is Outcome.CRASHED else words


def _log(stored: bytes | None, start: Start) -> bytes:
    entries = [] if stored is None else _decode_log(stored)[1 - MAX_LOG :]
    return _encode([*entries, start])
