"""What a request says about a timer, and the timer that it asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from noria.app.schedules import rule_of
from noria.app.timers import Checked
from noria.errors import InvalidOption
from noria.front.desk import Desk
from noria.front.enqueue import check_args, check_queue, find_task
from noria.front.principal import Principal
from noria.front.requests import RetryWanted
from noria.model.backoff import Backoff
from noria.model.schedule import Schedule
from noria.model.timetable import Rule


class RuleWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """When a timer is due: `every` so often (seconds, or text such as "10s"), or by `cron` in the zone `tz`."""

    every: float | str | None = None
    cron: str | None = None
    tz: str | None = None


class TimerWanted(RuleWanted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A timer as it is to be; what is left out is as for `@app.every`, or as the task says."""

    task: str
    args: Raw | UnsetType = UNSET
    overlap: str | UnsetType = UNSET
    catch_up: str | UnsetType = UNSET
    window: float | UnsetType = UNSET
    jitter: float | UnsetType = UNSET
    queue: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    expires: float | UnsetType = UNSET
    deadline: float | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    crashes: int | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    retry: RetryWanted | UnsetType = UNSET
    keep: float | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET


class ScheduleWanted(TimerWanted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A timer to make."""

    name: str


class TimerPut(TimerWanted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A timer as it is to be. What `GET` shows beside that only tells how it stands, and changes nothing.

    `name` has to be that of the path.
    """

    name: str | UnsetType = UNSET
    words: Raw | UnsetType = UNSET
    next_at: Raw | UnsetType = UNSET
    source: Raw | UnsetType = UNSET
    paused: Raw | UnsetType = UNSET
    last_slot_at: Raw | UnsetType = UNSET
    last_job_id: Raw | UnsetType = UNSET
    waiting_at: Raw | UnsetType = UNSET
    backlog: Raw | UnsetType = UNSET
    ran: Raw | UnsetType = UNSET
    skipped: Raw | UnsetType = UNSET
    missed: Raw | UnsetType = UNSET
    log: Raw | UnsetType = UNSET


class RestWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a timer is paused."""

    reason: str = ""


class BackfillWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """Slots later than the first time, up to the second."""

    since: datetime
    until: datetime


class PreviewWanted(RuleWanted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule, or the name of a timer that has one; how many slots, and after which time (now, if left out)."""

    name: str | None = None
    count: int = 5
    after: datetime | None = None


_OTHERS: Final = frozenset({"name", "task", "args", "every", "cron", "tz", "retry"})


async def schedule_of(desk: Desk, who: Principal, wanted: TimerWanted) -> Schedule:
    """The timer that a request asks for; it has not begun.

    Raises:
        Problem: this key may not use the task or the queue, nobody knows the task, or the arguments do not fit it.
        InvalidInput: something else is wrong; `field` names it.
    """
    rule = rule_in(wanted)
    checked = Checked(_options(wanted))
    known = await find_task(desk, who, wanted.task)
    args = b"{}" if wanted.args is UNSET else bytes(wanted.args)
    check_args(args)
    made = checked.schedule_of(known.sheet, known.body_of(args), rule, desk.app.home)
    check_queue(who, made.template.queue)
    return replace(made, source="api")


def rule_in(wanted: RuleWanted) -> Rule:
    """The rule that a request says.

    Raises:
        InvalidOption: neither or both are given, one is wrong, or a zone stands without cron.
    """
    if wanted.cron is None and wanted.tz is not None:
        raise InvalidOption("tz is the zone of a cron expression, and there is none", field="tz")
    return rule_of(wanted.every, wanted.cron, wanted.tz or "UTC")


def _options(wanted: TimerWanted) -> dict[str, Any]:
    given = {
        name: value
        for name in TimerWanted.__struct_fields__
        if name not in _OTHERS and (value := getattr(wanted, name)) is not UNSET
    }
    if isinstance(retry := wanted.retry, RetryWanted):
        given["retry"] = Backoff(retry.base, retry.cap, retry.factor, retry.jitter)
    return given
