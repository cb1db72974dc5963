"""What answers about timers look like, for the document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from noria.front.requests import RetryWanted
from noria.model.schedule import CatchUp, Overlap, Source, What


class Resting(Struct):
    """A pause of a timer."""

    by: str | None
    reason: str | None
    since: datetime


class Slots(Struct):
    """What became of one slot of a timer, or of several in a row."""

    first_at: datetime
    last_at: datetime
    what: What
    count: int
    job_id: str | None


class Preview(Struct):
    """When a rule is due: in words, as it was said, and its next slots."""

    words: str
    every: float | None
    cron: str | None
    tz: str | None
    next_at: list[datetime]


class Schedule(Preview):
    """A timer, and how it stands."""

    name: str
    task: str
    queue: str
    args: Any
    overlap: Overlap
    catch_up: CatchUp
    window: float
    jitter: float
    priority: int
    attempts: int
    crashes: int
    source: Source
    paused: Resting | None
    last_slot_at: datetime
    last_job_id: str | None
    waiting_at: list[datetime]
    backlog: int
    ran: int
    skipped: int
    missed: int
    log: list[Slots]
    expires: float | UnsetType = UNSET
    deadline: float | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    retry: RetryWanted | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    keep: float | UnsetType = UNSET


class Backfilled(Schedule, kw_only=True):
    """The same, and how many slots will run once more."""

    slots: int
