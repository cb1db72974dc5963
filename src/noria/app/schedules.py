"""Timers as they stand: looked at, paused, run out of turn, made and changed while workers run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, Unpack

from msgspec import Struct

from noria.app import checks
from noria.app.link import Links
from noria.app.router import AnyTask
from noria.app.task import Home
from noria.app.timerbook import TimerBook
from noria.app.timers import Checked, ScheduleOptions
from noria.errors import InvalidOption
from noria.model import schedule as timers
from noria.model import timetable
from noria.model.schedule import CatchUp, Overlap, Schedule, Source, What
from noria.model.timetable import Rule

_AHEAD: Final = 5
_PAGE: Final = 100


class SlotLog(Struct, frozen=True):
    """What became of one slot, or of several in a row.

    Attributes:
        first, last: the slots.
        what: "ran", "skipped" (another run stood in its way), "missed" (no worker was there), or "paused".
        count: how many slots.
        job: the id of the job, if it ran.
    """

    first: datetime
    last: datetime
    what: What
    count: int
    job: str | None


class ScheduleStatus(Struct, frozen=True, kw_only=True):
    """A timer, and how it stands. Times are aware UTC, durations seconds.

    Attributes:
        name, task, queue: as declared.
        rule: when it is due, in words; `every` or `cron` and `tz` are its parts.
        overlap, catch_up, window, jitter: see `ScheduleOptions`.
        source: "code", or "api" if it was made by `put`.
        paused: the reason of the pause that holds, perhaps ""; None if it runs.
        next: its next five slots; none while it is paused.
        last_slot: slots up to this time have been dealt with.
        last_job: the id of its newest job.
        waiting: slots whose jobs are enqueued when that job has ended.
        backlog: how many slots of the past are still to run; see `backfill`.
        ran, skipped, missed: how many slots since it was made.
        log: what became of the latest slots, newest first.
    """

    name: str
    task: str
    queue: str
    rule: str
    every: float | None
    cron: str | None
    tz: str | None
    overlap: Overlap
    catch_up: CatchUp
    window: float
    jitter: float
    source: Source
    paused: str | None
    next: list[datetime]
    last_slot: datetime
    last_job: str | None
    waiting: list[datetime]
    backlog: int
    ran: int
    skipped: int
    missed: int
    log: list[SlotLog]


class Schedules:
    """The timers of an application, those of its code and those that persons made.

    Every coroutine here raises `NotRunning` outside `async with app:`, and `BackendError` if the backend does not
    answer; those that name one raise `ScheduleNotFound` if there is none of that name.
    """

    def __init__(self, links: Links, home: Home, find_task: Callable[[str], AnyTask]) -> None:
        self._links = links
        self._home = home
        self._find_task = find_task

    async def list(self) -> list[ScheduleStatus]:
        """All of them, by name, but what only a newer version can read; the log names it."""
        found: list[ScheduleStatus] = []
        page, after = await self._book.page(None, _PAGE)
        while after is not None:
            found += [self._status(name, schedule) for name, schedule in page]
            page, after = await self._book.page(after, _PAGE)
        return found

    async def get(self, name: str) -> ScheduleStatus:
        """One of them."""
        return self._status(name, await self._book.get(name))

    async def pause(self, name: str, reason: str = "", *, by: str = "") -> ScheduleStatus:
        """Let no slot run until `resume`; they are counted as skipped. A job that is enqueued already runs."""
        return self._status(name, await self._book.pause(name, reason, by))

    async def resume(self, name: str) -> ScheduleStatus:
        """Go on with the next slot."""
        return self._status(name, await self._book.resume(name))

    async def run(self, name: str) -> ScheduleStatus:
        """Run it now, out of turn. While its last job is live, this does what `overlap` says of a slot.

        Raises:
            WrongState: its last job has not ended, and `overlap` is "skip".
        """
        return self._status(name, await self._book.run(name))

    async def backfill(self, name: str, since: datetime, until: datetime) -> int:
        """Run the slots of a time in the past once more, one after another, when nothing else of it waits.

        Args:
            since, until: aware times; slots later than the first, up to the second.

        Returns:
            how many slots that is.

        Raises:
            InvalidOption: a time has no zone, the times are in the wrong order, the second is to come, or they are more
                than 1,000 slots with those that wait already.
        """
        return (await self._book.backfill(name, since, until))[0]

    async def put(
        self,
        name: str,
        task: AnyTask | str,
        *,
        every: float | str | timedelta | None = None,
        cron: str | None = None,
        tz: str = "UTC",
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleStatus:
        """Make a timer, or change one that was made so; workers know within seconds. It goes on where it was.

        Args:
            name: what it is called.
            task: the task, or its name.
            every, cron, tz: when it is due, as for `Noria.every` or `Noria.cron`; one of the first two.
            options: see `ScheduleOptions`.

        Raises:
            InvalidOption, InvalidName, InvalidArguments, UnknownTask: something is wrong; nothing was stored.
            WrongState: a timer of this name is declared in code, and is changed there.
        """
        rule = rule_of(every, cron, tz)
        known = self._find_task(task) if isinstance(task, str) else task
        _, made = Checked({**options, "name": name}).schedule(known, rule, self._home)
        return self._status(name, await self._book.put(name, made))

    async def delete(self, name: str) -> None:
        """Delete it; its jobs stay. One that is declared in code is back when the next worker starts."""
        await self._book.delete(name)

    @property
    def _book(self) -> TimerBook:
        return TimerBook(self._links.here().backend, self._home.clock, self._home.ids)

    def _status(self, name: str, schedule: Schedule) -> ScheduleStatus:
        rule, standing = schedule.rule, schedule.standing
        return ScheduleStatus(
            name=name,
            task=schedule.template.task,
            queue=schedule.template.queue,
            rule=str(rule),
            every=rule.seconds if isinstance(rule, timetable.Every) else None,
            cron=rule.expression if isinstance(rule, timetable.Cron) else None,
            tz=rule.tz if isinstance(rule, timetable.Cron) else None,
            overlap=schedule.overlap,
            catch_up=schedule.catch_up,
            window=schedule.window,
            jitter=schedule.jitter,
            source=schedule.source,
            paused=None if schedule.paused is None else schedule.paused.reason,
            next=[_time(slot) for slot in timers.coming(schedule, self._home.clock.wall(), _AHEAD)],
            last_slot=_time(standing.last),
            last_job=standing.job or None,
            waiting=[_time(slot) for slot in standing.waiting],
            backlog=len(standing.backlog),
            ran=standing.ran,
            skipped=standing.skipped,
            missed=standing.missed,
            log=[
                SlotLog(_time(each.first), _time(each.last), each.what, each.count, each.job or None)
                for each in standing.log
            ],
        )


def rule_of(every: Any, cron: Any, tz: Any = "UTC") -> Rule:
    """The rule that is said by one of these.

    Raises:
        InvalidOption: neither or both are given, or one is wrong.
    """
    if (every is None) == (cron is None):
        raise InvalidOption(
            "a timer is due every so often, or by a cron expression; say one of them", field="every"
        )
    return timetable.every(every) if every is not None else timetable.cron(cron, tz)


def preview(rule: Rule, after: datetime, count: int = _AHEAD) -> list[datetime]:
    """The next slots of a rule, aware UTC."""
    return [_time(slot) for slot in islice(rule.slots(checks.moment("after", after)), count)]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
