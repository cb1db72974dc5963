"""What is known about a job, for people and programs."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from noria import ids
from noria.clock import utc
from noria.model.job import Record, Start
from noria.model.mark import Progress
from noria.model.outcome import Failure
from noria.model.past import Life
from noria.model.state import State

StateWord = Literal[
    "scheduled",
    "queued",
    "running",
    "asking",
    "waiting",
    "retrying",
    "parked",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
]


class JobFault(Struct, frozen=True):
    """Why a start or a job did not succeed, as text.

    Attributes:
        reason: a stable word, such as "exception", "timeout", "crash", "expired".
        type: the qualified name of the exception; empty if there was none.
        message, traceback: for people; bounded.
    """

    reason: str
    type: str = ""
    message: str = ""
    traceback: str = ""


class ProgressStatus(Struct, frozen=True):
    """How far a start of a job has come.

    Attributes:
        fraction: from 0 to 1.
        note: in words.
        at: when it was written down, in UTC.
    """

    fraction: float
    note: str
    at: datetime


class StartStatus(Struct, frozen=True, kw_only=True):
    """One ended start of a job.

    Attributes:
        number: which start it was, from 1.
        outcome: "succeeded", "failed", "timed_out", "crashed", "released", "snoozed" or "cancelled".
        started_at: when its handler began, in UTC; None if it never did.
        ended_at: when its end was recorded, in UTC.
        worker: the label of the worker that held it.
        error: why it did not succeed.
    """

    number: int
    outcome: str
    started_at: datetime | None
    ended_at: datetime
    worker: str
    error: JobFault | None


class Retried(Struct, frozen=True, kw_only=True):
    """How a job had ended before it was retried.

    Attributes:
        number: which retry ended this life of the job, from 1.
        state: how it had ended: "failed", "cancelled" or "expired".
        starts: how often it had been started by then, all in all.
        retried_at: when it was retried, in UTC.
        error: why it had not succeeded, without the traceback.
        note: why it was retried.
        edited: it was given other arguments.
        args: the old ones, if it was, as JSON; None if it was not, or if they are no JSON, or too large to be kept.
    """

    number: int
    state: str
    starts: int
    retried_at: datetime
    error: JobFault | None
    note: str
    edited: bool
    args: str | None


class JobStatus(Struct, frozen=True, kw_only=True):
    """A job as it stood when it was read. Times are aware and in UTC.

    Attributes:
        id: its UUID as text.
        state: the word for its state; `final` says whether it will change by itself no more.
        dead: it failed, and nobody has retried or discarded it yet.
        attempt, max_attempts: which counted attempt runs, ran last or comes next, and how many there may be.
        starts, crashes: how often it was leased, and how often its process died.
        created_at, run_at: when it was enqueued, and when it may run, or could.
        started_at, finished_at: when it was last leased, and when it became final.
        expires_at, deadline_at: start by, finish by.
        keep: seconds for which its record is kept after success; None: as the backend does.
        unique_key: no other live job of its task has this key.
        group: its group, as (family, key); needs: the resources of which it holds a token while it runs.
        schedule, slot: the timer that enqueued it, and for which time; "" and None if none did.
        cancelling: it runs, and its cancellation was asked for; cancelling_since: when that was.
        progress: how far its current or last start has come; None if it has not said so.
        question: the id of the question that it asks; empty if it does not.
        items: how many partial results it has sent.
        error: the last failure.
        log: its ended starts, oldest first; the oldest may have been dropped.
        retries: how often a person has had it run again.
        history: how it had ended before each of the last ten retries, oldest first.
    """

    id: str
    task: str
    queue: str
    state: StateWord
    final: bool
    dead: bool
    priority: int
    attempt: int
    max_attempts: int
    starts: int
    crashes: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    deadline_at: datetime | None
    keep: float | None
    worker: str
    unique_key: str | None
    tags: tuple[str, ...]
    correlation_id: str
    group: tuple[str, str] | None
    needs: tuple[str, ...]
    schedule: str
    slot: datetime | None
    parent_id: str
    linked: tuple[str, ...]
    after: tuple[str, ...]
    awaits: tuple[str, ...]
    cancelling: bool
    cancelling_since: datetime | None
    progress: ProgressStatus | None
    question: str
    items: int
    error: JobFault | None
    log: tuple[StartStatus, ...]
    retries: int
    history: tuple[Retried, ...]


def status_of(record: Record) -> JobStatus:
    """The public view of a record."""
    tally = record.tally
    return JobStatus(
        id=ids.to_text(record.id),
        task=record.task,
        queue=record.queue,
        state=record.state.word,  # type: ignore[arg-type]  # the literal lists every state; a test compares them
        final=record.state.final,
        dead=record.dead,
        priority=record.priority,
        attempt=attempt_of(record),
        max_attempts=tally.attempts,
        starts=record.starts,
        crashes=tally.crashes,
        created_at=utc(record.created),
        run_at=utc(record.due),
        started_at=_at(record.began),
        finished_at=_at(record.finished),
        expires_at=_at(record.expires),
        deadline_at=_at(record.deadline),
        keep=record.keep,
        worker=record.worker,
        unique_key=record.unique,
        tags=record.extras.tags,
        correlation_id=record.extras.correlation_id,
        group=None if record.group is None else (record.group.family, record.group.key),
        needs=record.needs,
        schedule=record.extras.schedule,
        slot=_at(record.extras.slot),
        parent_id=ids.of_hex(record.extras.parent_id),
        linked=tuple(map(ids.to_text, record.linked)),
        after=tuple(map(ids.of_hex, record.extras.after)),
        awaits=tuple(map(ids.to_text, record.awaits)),
        cancelling=record.cancelling,
        cancelling_since=_at(record.cancelling_since),
        progress=_progress(record.progress),
        question=record.question,
        items=record.items,
        error=_fault(record.failure),
        log=tuple(map(_start, record.log)),
        retries=record.past[-1].number if record.past else 0,
        history=tuple(map(_retried, record.past)),
    )


def attempt_of(record: Record) -> int:
    """The counted attempt that runs, ran last or comes next, from 1."""
    spent = record.tally.spent
    return max(spent, 1) if record.state is State.FAILED else min(spent + 1, record.tally.attempts)


def _start(start: Start) -> StartStatus:
    return StartStatus(
        number=start.number,
        outcome=start.outcome.word,
        started_at=_at(start.began or None),
        ended_at=utc(start.ended),
        worker=start.worker,
        error=_fault(start.failure),
    )


def _retried(life: Life) -> Retried:
    is_text = life.body is not None and life.codec == "json"
    return Retried(
        number=life.number,
        state=life.state.word,
        starts=life.starts,
        retried_at=utc(life.retried),
        error=_fault(life.failure),
        note=life.note,
        edited=life.edited,
        args=life.body.decode() if is_text and life.body is not None else None,
    )


def _progress(progress: Progress | None) -> ProgressStatus | None:
    return None if progress is None else ProgressStatus(progress.fraction, progress.note, utc(progress.at))


def _fault(failure: Failure | None) -> JobFault | None:
    if failure is None:
        return None
    return JobFault(failure.reason, failure.type, failure.message, failure.traceback)


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else utc(seconds)
