"""Why a job is not running, in one line."""

from __future__ import annotations

from noria.app.status import attempt_of
from noria.backends.contract import Counts, Paused, WorkerLine
from noria.clock import utc
from noria.model.job import Record
from noria.model.outcome import Failure
from noria.model.state import EDITABLE, State
from noria.model.wording import count


def explain(record: Record, counts: Counts, now: float) -> str:
    """Say in one line what a job waits for, or how it ended.

    Args:
        record: the job, with its log.
        counts: the queues and live workers, read at about the same time.
        now: seconds since the epoch.
    """
    if lapsed(record, now):
        return f"{record.state.word}: its time is over; the next sweep, or wait for it, ends it as expired"
    match record.state:
        case State.SCHEDULED:
            return f"scheduled: {_snoozed(record)}may run at {_when(record.due, now)}" + _served(
                record, counts, now
            )
        case State.RETRYING:
            spent = (
                f"attempt {record.tally.spent} of {record.tally.attempts} failed{_because(record.failure)}"
            )
            return f"retrying: {spent}; the next is at {_when(record.due, now)}" + _served(
                record, counts, now
            )
        case State.QUEUED:
            return _queued(record, counts, now)
        case State.PARKED:
            return _parked(record, counts, now)
        case State.RUNNING:
            return _running(record, now) + _silent(record, counts)
        case _:
            return _ended(record, now)


def lapsed(record: Record, now: float) -> bool:
    """Whether the time of a job that does not run is over, so that the next sweep ends it as expired."""
    if record.state not in EDITABLE:
        return False
    tally = record.tally
    begun = tally.spent + tally.crashes + tally.snoozes > 0
    ends = (record.deadline, None if begun else record.expires)
    return any(end is not None and end <= now for end in ends)


def _queued(record: Record, counts: Counts, now: float) -> str:
    lead = f"queued in {record.queue!r} for {_span(now - record.due)}"
    missing = _served(record, counts, now)
    if missing:
        return lead + missing
    queue = counts.queues.get(record.queue)
    waiting = queue.states.get(State.QUEUED, 0) if queue else 0
    busy = sum(each.vitals.running for each in counts.workers)
    slots = sum(each.card.slots for each in counts.workers)
    alone = "no other waits there"
    return (
        f"{lead}: {alone if waiting <= 1 else f'one of {waiting:,} that wait there'}, priority {record.priority}; "
        f"workers run {count(busy, 'job')} in {count(slots, 'slot')}"
    )


def _parked(record: Record, counts: Counts, now: float) -> str:
    since = f"parked for {_span(now - record.due)}" if now > record.due else "parked"
    since += _paused(record, counts, now)
    if _serving(record, counts.workers):
        return f"{since}: a live worker knows task {record.task!r}, and will lease it next"
    return f"{since}: no live worker knows task {record.task!r}; start one of a version that has it"


def _running(record: Record, now: float) -> str:
    began = record.began if record.began is not None else now
    lead = "running"
    if record.cancelling:
        asked = "" if record.cancelling_since is None else f" {_when(record.cancelling_since, now)}"
        lead = f"cancelling: its worker was told{asked}; it runs"
    return (
        f"{lead} on {record.worker or 'a worker'} since {_when(began, now)}, "
        f"attempt {attempt_of(record)} of {record.tally.attempts}"
    )


def _silent(record: Record, counts: Counts) -> str:
    """What is to be said of its worker, if nothing has been heard of it in time."""
    if any(each.session == record.session for each in counts.workers):
        return ""
    return "; that worker gives no sign of life: the next sweep of a live one gives the job back"


def _ended(record: Record, now: float) -> str:
    at = f" at {_when(record.finished, now)}" if record.finished is not None else ""
    if record.state is State.SUCCEEDED:
        return f"succeeded{at}"
    dead = "; it is a dead letter until it is retried or discarded" if record.dead else ""
    return f"{record.state.word}{at}{_because(record.failure)}{dead}"


def pause_in_words(queue: str, paused: Paused, now: float) -> str:
    """Who paused a queue, why, and until when."""
    by = f" by {paused.by}" if paused.by else ""
    because = f" because {' '.join(paused.reason.split())}" if paused.reason else ""
    until = "" if paused.until is None else f", until {_when(paused.until, now)}"
    return f"queue {queue!r} is paused{by}{because}{until}"


def _paused(record: Record, counts: Counts, now: float) -> str:
    """Who paused its queue, and why, if that is so."""
    queue = counts.queues.get(record.queue)
    if queue is None or queue.paused is None:
        return ""
    return f"; {pause_in_words(record.queue, queue.paused, now)}"


def _served(record: Record, counts: Counts, now: float) -> str:
    """Why nobody would run this job, if that is so: its queue is paused, or no live worker is for it."""
    paused = _paused(record, counts, now)
    if paused or not counts.workers:
        return paused or "; no worker is live"
    if not any(record.queue in each.card.queues for each in counts.workers):
        return f"; no live worker serves queue {record.queue!r}"
    if not _serving(record, counts.workers):
        return f"; no live worker of queue {record.queue!r} knows task {record.task!r}"
    return ""


def _serving(record: Record, workers: list[WorkerLine]) -> bool:
    return any(record.queue in each.card.queues and record.task in each.card.tasks for each in workers)


def _snoozed(record: Record) -> str:
    return (
        f"put off by its handler{_because(record.failure)}, "
        if record.tally.snoozes and record.failure
        else ""
    )


def _because(failure: Failure | None) -> str:
    if failure is None:
        return ""
    text = f"{failure.type}: {failure.message}" if failure.type else failure.message or failure.reason
    return f" ({' '.join(text.split())[:200]})"


def _when(at: float, now: float) -> str:
    gap = at - now
    return f"{utc(at):%Y-%m-%d %H:%M:%S} UTC ({'in ' + _span(gap) if gap > 0 else _span(-gap) + ' ago'})"


def _span(seconds: float) -> str:
    seconds = seconds if seconds > 0 else 0.0
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
