"""Jobs, queues and workers as a front shows them, read back into what they are: the way back of `front.resources`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from noria import ids
from noria.backends.contract import Counts, Paused, QueueCounts, QueueLimits, Vitals, WorkerCard, WorkerLine
from noria.ids import SessionId
from noria.model.groups import GroupRef
from noria.model.job import Extras, Record, Start
from noria.model.limits import AGEING
from noria.model.mark import Progress
from noria.model.outcome import Failure, Outcome, Reason, Tally
from noria.model.past import Life
from noria.model.state import State

_STATES: Final = {state.word: state for state in State}
_OUTCOMES: Final = {outcome.word: outcome for outcome in Outcome}


class Further(Struct):
    """How far a job has come."""

    fraction: float
    note: str
    at: datetime


class Error(Struct):
    """Why a job or an attempt did not succeed."""

    reason: Reason
    type: str | None = None
    message: str = ""
    traceback: str | None = None


class Attempt(Struct):
    """One ended start of a job."""

    number: int
    outcome: str
    ended_at: datetime
    started_at: datetime | None = None
    worker: str | None = None
    error: Error | None = None


class Group(Struct):
    """The group of a job."""

    family: str
    key: str


class Past(Struct):
    """How a job had ended before it was retried."""

    number: int
    state: str
    starts: int
    retried_at: datetime
    reason: str | None = None
    error: Error | None = None
    edited: bool = False
    args: Raw | UnsetType = UNSET


class Job(Struct, kw_only=True):
    """A job. What a newer front says besides is passed over."""

    id: str
    task: str
    queue: str
    state: str
    dead: bool
    priority: int
    attempt: int
    max_attempts: int
    starts: int
    crashes: int
    releases: int = 0
    snoozes: int = 0
    created_at: datetime
    run_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    deadline_at: datetime | None = None
    timeout: float | None = None
    tags: tuple[str, ...] = ()
    correlation_id: str | None = None
    unique_key: str | None = None
    group: Group | None = None
    needs: tuple[str, ...] = ()
    copy_of: str | None = None
    schedule: str | None = None
    slot_at: datetime | None = None
    parent_id: str | None = None
    root_id: str | None = None
    after: tuple[str, ...] = ()
    awaits: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    worker: str | None = None
    cancelling: bool = False
    cancelling_since: datetime | None = None
    progress: Further | None = None
    question_id: str | None = None
    items: int = 0
    error: Error | None = None
    args: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    attempts: tuple[Attempt, ...] = ()
    history: tuple[Past, ...] = ()


class Pause(Struct):
    """A pause that holds."""

    since: datetime
    by: str | None = None
    reason: str | None = None
    until: datetime | None = None


class Queue(Struct):
    """A queue in numbers."""

    name: str
    counts: Mapping[str, int]
    dead: int
    oldest_ready_seconds: float | None = None
    paused: Pause | None = None
    order: Literal["oldest", "newest"] = "oldest"
    ageing: float = AGEING
    max_age: float | None = None
    max_length: int | None = None
    concurrency: int | None = None
    high_water: Mapping[str, int] | None = None


class Slots(Struct):
    """Slots of one kind."""

    busy: int
    size: int


class Worker(Struct, kw_only=True):
    """A worker, as far as commands show it."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    tasks: tuple[str, ...]
    slots: dict[str, Slots]
    state: str
    command: str | None = None
    started_at: datetime
    beat_at: datetime
    rss: int
    load: float
    loop_lag: float
    buffered: int
    unsettled: int
    settled: int
    held: int
    jobs: tuple[str, ...] = ()


def record_of(job: Job) -> Record:
    """The job as the ledger has it, as far as it was told."""
    return Record(
        id=ids.from_text(job.id), task=job.task, queue=job.queue, state=_STATES[job.state], version=0, dead=job.dead,
        priority=job.priority, created=job.created_at.timestamp(), due=job.run_at.timestamp(),
        began=_seconds(job.started_at), finished=_seconds(job.finished_at), expires=_seconds(job.expires_at),
        deadline=_seconds(job.deadline_at), session=0, worker=job.worker or "", starts=job.starts,
        tally=_tally(job), unique=job.unique_key, keep=None, cancelling=job.cancelling, failure=_failure(job.error),
        extras=Extras(
            timeout=job.timeout, tags=job.tags, correlation_id=job.correlation_id or "", copy_of=job.copy_of or "",
            schedule=job.schedule or "", slot=_seconds(job.slot_at),
            parent_id=_hex(job.parent_id), root_id=_hex(job.root_id), after=tuple(map(_hex, job.after)),
        ),
        codec="json", body=_bytes(job.args), result=_bytes(job.result), log=tuple(map(_start, job.attempts)),
        past=tuple(map(_life, job.history)), cancelling_since=_seconds(job.cancelling_since),
        linked=tuple(map(ids.from_text, job.linked)), awaits=tuple(map(ids.from_text, job.awaits)),
        progress=_progress(job.progress), question=job.question_id or "", items=job.items,
        group=None if job.group is None else GroupRef(job.group.family, job.group.key), needs=job.needs,
    )  # fmt: skip


def _hex(id: str | None) -> str:
    return "" if id is None else ids.from_text(id).hex()


def _progress(further: Further | None) -> Progress | None:
    return None if further is None else Progress(further.fraction, further.note, further.at.timestamp())


def _tally(job: Job) -> Tally:
    """The attempt that is told is the one after those that are spent, but for a job that has failed."""
    spent = job.attempt if job.state == State.FAILED.word else job.attempt - 1
    return Tally(
        spent=spent,
        attempts=job.max_attempts,
        crashes=job.crashes,
        releases=job.releases,
        snoozes=job.snoozes,
    )


def _start(attempt: Attempt) -> Start:
    return Start(
        number=attempt.number,
        outcome=_OUTCOMES[attempt.outcome],
        began=_seconds(attempt.started_at) or 0.0,
        ended=attempt.ended_at.timestamp(),
        worker=attempt.worker or "",
        failure=_failure(attempt.error),
    )


def _life(past: Past) -> Life:
    return Life(
        number=past.number,
        state=_STATES[past.state],
        retried=past.retried_at.timestamp(),
        starts=past.starts,
        failure=_failure(past.error),
        note=past.reason or "",
        edited=past.edited,
        body=_bytes(past.args),
    )


def _failure(error: Error | None) -> Failure | None:
    if error is None:
        return None
    return Failure(error.reason, error.message, error.type or "", error.traceback or "")


def _bytes(value: Raw | UnsetType) -> bytes | None:
    return None if value is UNSET else bytes(value)


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def counts_of(queues: Iterable[Queue], workers: Iterable[Worker]) -> Counts:
    """Queues and workers as the backend counts them."""
    return Counts({each.name: queue_of(each) for each in queues}, [line_of(each) for each in workers])


def queue_of(queue: Queue) -> QueueCounts:
    """A queue as the backend counts it."""
    states = {_STATES[word]: number for word, number in queue.counts.items()}
    pause = queue.paused
    paused = None
    if pause is not None:
        since = pause.since.timestamp()
        paused = Paused(pause.reason or "", pause.by or "", since, _seconds(pause.until))
    limits = QueueLimits(
        order=queue.order, ageing=queue.ageing, max_age=queue.max_age, max_length=queue.max_length,
        concurrency=queue.concurrency, high_water=queue.high_water,
    )  # fmt: skip
    return QueueCounts(states, queue.dead, queue.oldest_ready_seconds, paused, limits)


def line_of(worker: Worker) -> WorkerLine:
    """A worker as the backend lists it."""
    sizes = {kind: slots.size for kind, slots in worker.slots.items()}
    busy = {kind: slots.busy for kind, slots in worker.slots.items()}
    card = WorkerCard(
        worker=worker.name, host=worker.host, pid=worker.pid, tasks=worker.tasks, queues=worker.queues,
        slots=sum(sizes.values()), sizes=sizes, version=worker.version,
    )  # fmt: skip
    vitals = Vitals(
        running=sum(busy.values()), buffered=worker.buffered, unsettled=worker.unsettled, settled=worker.settled,
        lag=worker.loop_lag, memory=worker.rss, busy=busy, load=worker.load,
    )  # fmt: skip
    return WorkerLine(
        session=SessionId(int(worker.id, 16)), card=card, vitals=vitals, opened=worker.started_at.timestamp(),
        beat=0, seen=worker.beat_at.timestamp(),
    )  # fmt: skip
