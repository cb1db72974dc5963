"""Steering: queues are paused, resumed and limited, groups closed and opened, rules set.

Pauses and limits are rows to look at, and nothing is done to the jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

from noria.backends.contract import (
    Close,
    FamilyRef,
    GroupRef,
    Limit,
    Open,
    Pause,
    Paused,
    QueueRef,
    ResourceRef,
    Resume,
    Rule,
    Steered,
    Steering,
    Target,
)
from noria.backends.sql import grouped, groups, tokens
from noria.backends.sql.bounds import columns_of
from noria.backends.sql.call import Call
from noria.backends.sql.rows import decode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis_or_none, seconds_or_none
from noria.errors import InvalidInput
from noria.model.groups import Closed, Need
from noria.model.queue import check_circle


@dataclass(slots=True)
class Steer(Call):
    """The call."""

    target: Target
    change: Steering

    def run(self, work: Transaction) -> Steered:
        """Do what was asked, if it can be done to such a target."""
        target, change = self.target, self.change
        if isinstance(target, QueueRef) and isinstance(change, Pause | Resume | Limit):
            return self._queue(work, target.queue, change)
        if not work.settings.groups:
            raise InvalidInput(f"{work.settings.store} keeps no groups and no resources")
        if isinstance(target, GroupRef) and isinstance(change, Close | Open):
            return self._group(work, target, change)
        if isinstance(target, FamilyRef) and isinstance(change, Rule):
            groups.declare(work, {target.family: change})
        elif isinstance(target, ResourceRef) and isinstance(change, Need) and change.name == target.name:
            tokens.supply(work, {target.name: change})
        else:
            raise InvalidInput(f"{type(change).__name__} is nothing that can be done to {target!r:.200}")
        return Steered()

    def _queue(self, work: Transaction, queue: str, change: Pause | Resume | Limit) -> Steered:
        work.run("pauses_drop", work.now)
        if isinstance(change, Limit):
            _limit(work, queue, change)
        else:
            _pause(work, queue, change)
        return Steered(pauses(work).get(queue), work.bounds_of(queue).limits)

    def _group(self, work: Transaction, ref: GroupRef, change: Close | Open) -> Steered:
        if isinstance(change, Close):
            work.groups.close(ref.family, ref.key, Closed(change.until, change.reason, change.by))
        else:
            work.groups.open(ref.family, ref.key)
        work.groups.settle(work)
        (line,) = grouped.lines(work, [(ref.family, ref.key)])
        return Steered(closed=None if line is None else line.closed)


def _pause(work: Transaction, queue: str, change: Pause | Resume) -> None:
    if isinstance(change, Pause):
        until = millis_or_none(change.until)
        if until is None or until > work.now:
            work.run("pause", queue, work.now, until, change.reason, change.by)
            return
    work.run("resume", queue)
    work.has_work(queue)


def _limit(work: Transaction, queue: str, change: Limit) -> None:
    if change.high_water:
        work.hold_limits()
        marks = {name: each.high_water for name, each in work.bounds.items()}
        check_circle(queue, {**marks, queue: change.high_water})
    work.run("limit", queue, *columns_of(change))
    work.run("limits_drop", queue)
    work.forget_bounds()
    work.has_work(queue)


def pauses(work: Transaction) -> dict[str, Paused]:
    """The pauses that hold, by queue."""
    Line = tuple[str, str, str, int, int | None]
    return {
        queue: Paused(reason, by, since / 1000, seconds_or_none(until))
        for queue, reason, by, since, until in decode(work.row("pauses", work.now)[0], list[Line])
    }
