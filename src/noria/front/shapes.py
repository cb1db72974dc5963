"""What answers look like, for the document: generated clients get types, and the suite compares these with answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType

from noria.app.status import StateWord
from noria.front.operation import Params, Trouble
from noria.model.claim import Enqueued
from noria.model.question import OnExpiry, Standing
from noria.model.reason import Reason

T = TypeVar("T")


class Page(Struct, Generic[T]):
    """A page of a list; `next` is the `cursor` of the page behind, if there is one."""

    items: list[T]
    next: str | None


class Failure(Struct):
    """Why a job or an attempt did not succeed."""

    reason: str
    type: str | None
    message: str
    traceback: str | None
    fingerprint: str
    attempt: int


class Attempt(Struct):
    """One ended start of a job."""

    number: int
    outcome: str
    started_at: datetime | None
    ended_at: datetime
    worker: str | None
    error: Failure | None


class GroupOf(Struct):
    """The group of a job."""

    family: str
    key: str


class Past(Struct):
    """How a job had ended before it was retried. `args`: those that it lost then, if it was given others."""

    number: int
    state: StateWord
    starts: int
    retried_at: datetime
    reason: str | None
    error: Failure | None
    edited: bool
    args: Any = None


class Progress(Struct):
    """How far a job has come: a fraction from 0 to 1, and a note."""

    fraction: float
    note: str
    at: datetime


class Question(Struct):
    """What a job asks. `schema` is what `data` of an answer looks like; `following` was asked in its place."""

    id: str
    job_id: str
    task: str
    queue: str
    name: str
    message: str
    schema: dict[str, Any]
    secret: bool
    state: Standing
    created_at: datetime
    expires_at: datetime
    on_expiry: OnExpiry
    answered_by: str | None
    supersedes: str | None
    following: str | None
    answer_url: str | None
    links: dict[str, str]
    answer: Any = None


class Invitation(Struct):
    """A question as who has its link sees it. `answer` is there in the reply to it, unless it is secret."""

    id: str
    name: str
    message: str
    schema: dict[str, Any]
    secret: bool
    state: Standing
    expires_at: datetime
    answer: Any = None


class Job(Struct):
    """A job as it stands. `args`, `result`, `attempts` and `history` are there if they were asked for, and fit.

    `question` is there while it asks, where a job is read alone.
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
    releases: int
    snoozes: int
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    deadline_at: datetime | None
    timeout: float | None
    tags: list[str]
    correlation_id: str | None
    unique_key: str | None
    group: GroupOf | None
    needs: list[str]
    copy_of: str | None
    schedule: str | None
    slot_at: datetime | None
    parent_id: str | None
    root_id: str | None
    after: list[str]
    awaits: list[str]
    linked: list[str]
    worker: str | None
    cancelling: bool
    cancelling_since: datetime | None
    progress: Progress | None
    question_id: str | None
    items: int
    error: Failure | None
    links: dict[str, str]
    question: Question | UnsetType = UNSET
    args: Any = None
    result: Any = None
    attempts: list[Attempt] | UnsetType = UNSET
    history: list[Past] | UnsetType = UNSET


class Explained(Struct):
    """How a job stands and why it does not run: in one line, and reason by reason, the weightiest first."""

    id: str
    state: StateWord
    explain: str
    reasons: list[Reason]


class Item(Struct):
    """What became of one item of a batch."""

    index: int
    status: int
    job_id: str | UnsetType = UNSET
    existing: bool | UnsetType = UNSET
    enqueued: Enqueued | UnsetType = UNSET
    replayed: bool | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class Items(Struct):
    """What became of each item, in order."""

    items: list[Item]


class Paused(Struct):
    """A pause that holds."""

    by: str | None
    reason: str | None
    since: datetime
    until: datetime | None


class Queue(Struct):
    """A queue in numbers; rates are jobs a second over the last minutes."""

    name: str
    counts: dict[str, int]
    dead: int
    oldest_ready_seconds: float | None
    consumers: int
    paused: Paused | None
    held_by: str | None
    order: Literal["oldest", "newest"]
    ageing: float
    max_age: float | None
    max_length: int | None
    concurrency: int | None
    high_water: dict[str, int] | None
    in_rate: float
    out_rate: float
    seconds_to_empty: float | None


class Pace(Struct):
    """How often something may start: so many times in so many seconds, and at once after a while."""

    times: int
    seconds: float
    burst: int


class Closing(Struct):
    """Why a group is closed, and until when."""

    by: str | None
    reason: str | None
    until: datetime | None


class JobGroup(Struct):
    """A group: its rule, how many of its places are taken, by whom, and how many jobs wait."""

    family: str
    key: str
    limit: int | None
    rate: Pace | None
    ordered: bool
    taken: int
    waiting: int
    holders: list[str]
    closed: Closing | None
    next_at: datetime | None


class Resource(Struct):
    """A resource, how many of its tokens are held, and by whom."""

    name: str
    capacity: int | None
    rate: Pace | None
    used: int
    holders: list[str]
    next_at: datetime | None


class Task(Struct):
    """A task, as its author declared it."""

    name: str
    description: str
    args_schema: dict[str, Any]
    result_schema: dict[str, Any]
    positional: list[str]
    queue: str
    priority: int
    attempts: int
    crashes: int
    timeout: float | None
    keep: float | None
    tags: list[str]
    retry: dict[str, Any]
    executor: str
    safe: bool
    workers_serving: int
    rate: float
    failed_1h: int


class Worker(Struct):
    """A worker: who it is, how it is, what it holds."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    language: str
    queues: list[str]
    tasks: list[str]
    slots: dict[str, dict[str, int]]
    state: str
    command: str | None
    started_at: datetime
    beat_at: datetime
    rss: int
    load: float
    loop_lag: float
    buffered: int
    unsettled: int
    settled: int
    held: int
    jobs: list[str]


class Operation(Struct):
    """A bulk operation, and how far it has come."""

    id: str
    action: str
    target: str
    filter: dict[str, str]
    params: Params
    state: str
    matched: int
    done: int
    skipped: int
    failed: int
    errors: list[Trouble]
    rate: float | None
    by: str
    note: str
    created_at: datetime
    finished_at: datetime | None


class Key(Struct):
    """A key; `key` is its text, which is there once, when it was made."""

    id: str
    prefix: str
    name: str
    scopes: list[str]
    queues: list[str]
    tasks: list[str]
    rate: float | None
    depth: int | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    key: str | UnsetType = UNSET
