"""Timers as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from noria.cli.escape import one_line
from noria.cli.quantities import age, count
from noria.clock import moment
from noria.front.schedule_shapes import Preview, Resting, Schedule, Slots

COLUMNS: Final = ("name", "task", "queue", "next", ">ran", ">skipped", ">missed", "when")
_LATEST: Final = 10
"""Entries of the log that are shown; all are in JSON."""


class Shown(Struct):
    """What a table needs of a timer."""

    name: str
    task: str
    queue: str
    words: str
    paused: Resting | None
    next_at: list[datetime]
    ran: int
    skipped: int
    missed: int


def row(timer: Shown, now: float) -> tuple[str, ...]:
    """A timer as a row of a table."""
    coming = age(timer.next_at[0].timestamp(), now) if timer.next_at else "–"
    return (
        one_line(timer.name),
        one_line(timer.task),
        one_line(timer.queue),
        "paused" if timer.paused is not None else coming,
        f"{timer.ran:,}",
        f"{timer.skipped:,}",
        f"{timer.missed:,}",
        one_line(timer.words),
    )


def details(timer: Schedule, now: float) -> Iterator[str]:
    """A timer with all that is known of it, line by line."""
    facts = {
        "name": one_line(timer.name),
        "when": one_line(timer.words),
        "task": one_line(timer.task),
        "queue": one_line(timer.queue),
        "args": one_line(msgspec.json.encode(timer.args).decode()),
        "overlap": timer.overlap,
        "catch up": timer.catch_up if not timer.window else f"{timer.catch_up} of {timer.window:g} s",
        "jitter": f"{timer.jitter:g} s" if timer.jitter else "",
        "from": timer.source,
        "paused": "" if timer.paused is None else _rest(timer.paused, now),
        "slots": f"{timer.ran:,} ran, {timer.skipped:,} skipped, {timer.missed:,} missed",
        "waiting": str(len(timer.waiting_at) or ""),
        "backlog": str(timer.backlog or ""),
        "last job": timer.last_job_id or "",
    }
    for name, text in facts.items():
        if text:
            yield f"{name:<10}{text}"
    for slot in slots(timer, now):
        yield f"{'next':<10}{slot}"
    for each in timer.log[:_LATEST]:
        yield f"{'log':<10}{_entry(each)}"


def slots(rule: Preview, now: float) -> list[str]:
    """The next slots of a rule, in its own time zone."""
    zone = _zone(rule.tz or "UTC")
    return [f"{each.astimezone(zone).isoformat(' ')}  {age(each.timestamp(), now)}" for each in rule.next_at]


def _zone(name: str) -> tzinfo:
    """A time zone; UTC for one that the front's machine knows and this one does not."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return UTC


def _rest(paused: Resting, now: float) -> str:
    by = f" by {one_line(paused.by)}" if paused.by else ""
    why = f": {one_line(paused.reason)}" if paused.reason else ""
    return f"{age(paused.since.timestamp(), now)}{by}{why}"


def _entry(entry: Slots) -> str:
    span = [moment(each.timestamp()) or "" for each in (entry.first_at, entry.last_at)]
    many = f"  {count(entry.count, 'slot')}" if entry.count > 1 else ""
    return (
        "  ".join(_distinct(span)) + f"  {entry.what}{many}" + (f"  {entry.job_id}" if entry.job_id else "")
    )


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))
