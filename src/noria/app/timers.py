"""`@app.every` and `@app.cron`: tasks whose jobs a timer enqueues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from noria.app import checks
from noria.app.options import JOB_CHECKS, Checks, check_options
from noria.app.plan import Defaults, Plan
from noria.app.task import Home, Task
from noria.clock import Clock
from noria.errors import InvalidOption, TaskDefinitionError, shown
from noria.model import timetable
from noria.model.backoff import Backoff
from noria.model.groups import known
from noria.model.names import check_name
from noria.model.schedule import CatchUp, Overlap, Schedule, Standing, Template
from noria.model.timetable import Rule

MAX_ARGUMENTS: Final = 16_384
"""Bytes of the arguments of a schedule: a document holds all of it."""

_OVERLAPS: Final = ("skip", "queue_one", "queue_all", "cancel_old")
_CATCH_UPS: Final = ("none", "latest", "all")
_FORBIDDEN: Final = ("id", "delay", "at", "unique", "after", "on")
"""Options of jobs that a timer decides itself, or that are of one job alone."""

T = TypeVar("T", bound=Task[..., Any])


class ScheduleOptions(TypedDict, total=False):
    """What can be said about a timer; the rest, such as `queue` or `priority`, is of its jobs: see `JobOptions`."""

    args: Mapping[str, Any] | tuple[Any, ...] | list[Any]
    """The arguments of its jobs: by name, or by position."""
    overlap: Overlap
    """What a slot does while the last job is live: "skip" (if left out) it; "queue_one": the newest such slot runs
    when that job has ended; "queue_all": all of them do, one after another; "cancel_old": cancel that job."""
    catch_up: CatchUp
    """Which slots run late, after a time in which no worker ran: "none", "latest" (if left out), or "all" of the last
    `window` seconds, which wants overlap="queue_all"."""
    window: float
    """Seconds; see `catch_up`."""
    jitter: float
    """Its jobs start up to so many seconds after their slots; 0 if left out."""
    queue: str
    priority: int
    expires: float
    deadline: float
    attempts: int
    crashes: int
    timeout: float
    retry: Backoff
    keep: float | None
    tags: tuple[str, ...] | list[str]
    group: tuple[str, str] | None
    correlation_id: str


class TimerOptions(ScheduleOptions, total=False):
    """What can be said about a timer in code."""

    name: str
    """What it is called; the task's name if left out. A second timer of the same task needs one."""


def _one_of(*words: str) -> checks.Check:
    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise checks.refusal(name, "one of " + ", ".join(repr(word) for word in words), value)

    return check


def _arguments(name: str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(value, Mapping):
        return (), dict(value)
    if isinstance(value, tuple | list):
        return tuple(value), {}
    raise checks.refusal(name, "arguments by name (a mapping) or by position (a list)", value)


_CHECKS: Final[Checks] = {
    **{name: check for name, check in JOB_CHECKS.items() if name not in _FORBIDDEN},
    "name": lambda name, value: check_name("schedule", value),
    "args": _arguments,
    "overlap": _one_of(*_OVERLAPS),
    "catch_up": _one_of(*_CATCH_UPS),
    "window": checks.seconds(0.0),
    "jitter": checks.seconds(0.0),
    "expires": checks.seconds(checks.SHORTEST),
    "deadline": checks.seconds(checks.SHORTEST),
}
_OF_TIMERS: Final = ("name", "args", "overlap", "catch_up", "window", "jitter")


class Timers:
    """The timers that an application's code declares."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._schedules: dict[str, Schedule] = {}

    def every(self, period: float | str | timedelta, **options: Unpack[TimerOptions]) -> Callable[[T], T]:
        """Enqueue a job of a task again and again: a decorator over `@app.task`.

        Its slots are whole multiples of the period since 1970 began (UTC), so that a restart moves none of them. Any
        number of workers may run: each slot's job is enqueued once. A run never overlaps with the last one, unless
        that ran on beside its cancellation.

        Args:
            period: seconds, text such as "10s" or "1h30m", or a timedelta; from 0.1 s to 366 days.
            options: see `TimerOptions`.

        Raises:
            InvalidOption: the period or an option is wrong, or two options contradict; `field` names one.
            InvalidArguments: `args` do not fit the task.
            TaskDefinitionError: it stands over something that is no task of this application, or the name is taken.
        """
        return self._declare(timetable.every(period), options)

    def cron(self, expression: str, *, tz: str = "UTC", **options: Unpack[TimerOptions]) -> Callable[[T], T]:
        """Enqueue a job of a task by the clock on the wall: a decorator over `@app.task`; see `every`.

        Args:
            expression: minute, hour, day of month, month and day of week, such as "0 3 * * *"; or six fields, with
                seconds first.
            tz: the zone of that clock, such as "Asia/Shanghai". When it changes, a fixed time that falls into a skipped
                hour runs right after it, and one in a repeated hour runs once, as with Debian's cron(8).
            options: see `TimerOptions`.

        Raises: as `every`.
        """
        return self._declare(timetable.cron(expression, tz), options)

    def _declare(self, rule: Rule, options: Mapping[str, Any]) -> Callable[[T], T]:
        checked = Checked(options)

        def declare(task: T) -> T:
            name, schedule = checked.schedule(task, rule, self._home)
            if name in self._schedules:
                raise TaskDefinitionError(
                    f"timer {name!r} is declared twice; give one of them another name: @app.every(..., name=...)"
                )
            self._schedules[name] = schedule
            return task

        return declare

    def declared(self, clock: Clock) -> dict[str, Schedule]:
        """All of them, by name; those that are new begin now."""
        begin = Standing(clock.wall())
        return {name: replace(each, standing=begin) for name, each in self._schedules.items()}


class Checked:
    """The options of a timer, checked.

    Raises:
        InvalidOption: one is unknown, of the wrong type or out of range, or two contradict; `field` names it.
        InvalidName: a name has a form that no backend accepts.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._job = check_options("a timer", options, _CHECKS)
        self._about: dict[str, Any] = {name: self._job.pop(name) for name in _OF_TIMERS if name in self._job}
        _check_together(self._about)

    def schedule(self, task: object, rule: Rule, home: Home) -> tuple[str, Schedule]:
        """The schedule of a task, with its name; it has not begun.

        Raises:
            TaskDefinitionError: it is no task of this application.
            InvalidArguments, TooLarge: `args` do not fit the task.
        """
        if not isinstance(task, Task):
            raise TaskDefinitionError(
                f"a timer enqueues jobs of a task, and {shown(task)} is none; put @app.task under the timer's line"
            )
        if task.seat.home is not home:
            raise TaskDefinitionError(
                f"task {task.name!r} belongs to no application yet, or to another; include its router, and then "
                "app.every(...)(task)"
            )
        args, kwargs = self._about.get("args", ((), {}))
        body = task.seat.defined.binding.pack(args, kwargs)
        return self._about.get("name") or task.name, self.schedule_of(task.definition, body, rule, home)

    def schedule_of(self, task: Defaults, body: bytes, rule: Rule, home: Home) -> Schedule:
        """The schedule of a task whose code need not be here; it has not begun. `body`: its arguments, checked.

        Raises:
            InvalidOption: they are too large for a schedule.
        """
        about = {name: value for name, value in self._about.items() if name not in ("name", "args")}
        template = self._template(task, body, home)
        return Schedule(rule=rule, template=template, standing=Standing(0.0), **about)

    def _template(self, task: Defaults, body: bytes, home: Home) -> Template:
        """What its jobs have in common: made as any job is, so that it is checked as one."""
        until = {name: self._job[name] for name in ("expires", "deadline") if name in self._job}
        rest = {name: value for name, value in self._job.items() if name not in until}
        if len(body) > MAX_ARGUMENTS:
            raise InvalidOption(
                f"the arguments of a timer are at most {MAX_ARGUMENTS:,} bytes, and these are {len(body):,}; "
                "store them elsewhere and pass where",
                field="args",
            )
        plan = Plan.of(task, rest)
        job = home.families.placed(plan.job(body, home.ids, home.clock), task, plan.group)
        group, needs = known(job.group, job.needs)
        extras = home.layers.stamp(job.task, job.queue, job.extras) if home.layers.stamps else job.extras
        return Template(
            task=job.task, queue=job.queue, body=body, codec=job.codec, lane=job.lane, priority=job.priority,
            attempts=job.attempts, crash_budget=job.crash_budget, keep=job.keep,
            unique=job.unique, claim=job.claim, extras=extras, group=group, needs=needs, **until,
        )  # fmt: skip


def _check_together(about: Mapping[str, Any]) -> None:
    """Refuse what contradicts itself."""
    every = about.get("catch_up") == "all"
    if every and about.get("overlap") != "queue_all":
        raise InvalidOption(
            'catch_up="all" makes several runs due at once; say overlap="queue_all", so that they run one by one',
            field="catch_up",
        )
    if every != bool(about.get("window")):
        raise InvalidOption(
            'catch_up="all" and window=SECONDS belong together: slots of so many seconds are caught up on',
            field="window",
        )
