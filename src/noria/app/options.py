"""The options of tasks and jobs, each with its check: nothing misspelt or out of range gets further."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict
from uuid import UUID

from noria.app import checks
from noria.app.ties import rate_of
from noria.errors import InvalidOption, shown
from noria.model.backoff import Backoff
from noria.model.groups import Rate
from noria.model.unique import Unique

_LONGEST: Final = 200
"""Characters of a wrong name that are compared: comparing takes time that grows with their number."""

Checks = Mapping[str, checks.Check]
"""For each option the function (name, value) -> checked value; raises `InvalidOption`."""


class Ahead(float):
    """A point in time that is not fixed yet: so many seconds after the job is made."""


class TaskOptions(TypedDict, total=False):
    """What can be said about a task when it is declared."""

    name: str
    """How jobs call it; the function's own name if left out. Keep it when you rename the function."""
    queue: str
    """Where its jobs wait; "default" if left out."""
    priority: int
    """-9 to 9; higher first; 0 if left out."""
    attempts: int
    """How often a job may fail, the first time included; 5 if left out."""
    crashes: int
    """How often the process may die while it runs a job, before that job fails; 3 if left out."""
    timeout: float | None
    """Seconds that one attempt may take; None, or left out: no limit."""
    retry: Backoff
    """The waits between attempts; `Backoff()` if left out."""
    keep: float | None
    """Seconds to keep a job's record after success; 0 erases it at once; None leaves it to the backend."""
    tags: tuple[str, ...] | list[str]
    """Words to find its jobs by: at most 16, of at most 64 characters."""
    safe: bool
    """Its jobs change nothing, so that `GET /v1/call/TASK` may make them; False if left out."""
    group: tuple[str, str | Callable[..., Any]]
    """A family that `app.group` declares, and the key: an argument, a path such as "order.customer" or "url.host", or a
    function of the arguments. Jobs of one group share its limit, rate and order."""
    rate: str | Rate
    """How often its jobs may start, across all workers: "10/s", "100/5min"."""
    needs: tuple[str, ...] | list[str]
    """Resources that `app.resource` declares: a job starts when all have a token left, and holds one of each."""
    unique: Unique | None
    """How its jobs are unique, such as `Unique(by="order_id", within=60)`; not at all if left out."""
    executor: Literal["async", "thread", "process"]
    """Where it runs; "async" for `async def`, "thread" for `def` if left out; "process" for a `def` on its own."""


class JobOptions(TypedDict, total=False):
    """What can be said about one job, or a few, when they are enqueued; the rest is as the task says."""

    id: str | UUID
    """The job's id, for callers that must know it beforehand; enqueueing an id again is the same job."""
    queue: str
    """Where it waits."""
    priority: int
    """-9 to 9; higher first."""
    delay: float
    """Seconds before it may run. Not together with `at`."""
    at: datetime
    """The time, with a time zone, before which it may not run."""
    expires: float | datetime
    """Start by then, or never: seconds from now, or a time with a time zone."""
    deadline: float | datetime
    """Finish by then, over all attempts: seconds from now, or a time with a time zone."""
    attempts: int
    """How often it may fail, the first time included."""
    crashes: int
    """How often the process may die while it runs this job, before it fails."""
    timeout: float
    """Seconds that one attempt may take."""
    retry: Backoff
    """The waits between attempts; without `never`, since a job carries no code."""
    unique: str | Unique | None
    """While a job of this task with the same key is live, enqueueing gives that job and stores none; a `Unique` says
    more. None: it is not unique, whatever its task says."""
    keep: float | None
    """Seconds to keep its record after success; 0 erases it at once; None leaves it to the backend."""
    tags: tuple[str, ...] | list[str]
    """Words to find it by: at most 16, of at most 64 characters."""
    correlation_id: str
    """The caller's own id for what this job belongs to."""
    after: Any
    """A job, a draft or an id, or a list of them: it waits until these have ended."""
    on: Literal["success", "complete", "failure"]
    """How they must end for it to run: all succeeded, if left out; however; or at least one not."""
    group: tuple[str, str] | None
    """Its group, as (family, key), whatever its arguments say; None for none."""


class WorkerOptions(TypedDict, total=False):
    """The fields of `WorkerSettings`, for editors."""

    queues: tuple[str, ...]
    weights: Mapping[str, int]
    name: str
    concurrency: int
    threads: int
    process_slots: int
    max_asking: int
    process_job_limit: int
    process_memory_limit: int
    memory_limit: int
    supervised: bool
    ttl: float
    beat: float
    grace: float
    poll: float
    blocked_after: float
    burst: bool


def check_options(what: str, given: Mapping[str, Any], table: Checks) -> dict[str, Any]:
    """Check options by their table.

    Args:
        what: whose options they are, for the message.
        given: the options as the caller wrote them.
        table: what is allowed.

    Raises:
        InvalidOption: an option is unknown, has the wrong type or is out of range; `field` names it.
        InvalidName: a name has a form that no backend accepts.
    """
    check_names(what, given, table)
    return {name: table[name](name, value) for name, value in given.items()}


def check_names(what: str, given: Iterable[str], allowed: Collection[str]) -> None:
    """Refuse options that do not exist.

    Raises:
        InvalidOption: the first of these; the message names the option that was probably meant.
    """
    for name in given:
        if name not in allowed:
            raise InvalidOption(f"{what} has no option {shown(name)}; {nearest(name, allowed)}", field=name)


def nearest(name: object, allowed: Collection[str]) -> str:
    """A hint for who wrote a name that does not exist: the one that was probably meant, or all there are."""
    near = meant(name, allowed)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"there are {', '.join(sorted(allowed))}" if allowed else "there are none"


def meant(name: object, allowed: Collection[str]) -> str | None:
    """The name that was probably meant by one that does not exist."""
    near = get_close_matches(name[:_LONGEST], sorted(allowed), 1, 0.5) if isinstance(name, str) else []
    return near[0] if near else None


def _moment_or_seconds(name: str, value: Any) -> Ahead | float:
    if checks.is_number(value):
        return Ahead(checks.seconds(checks.SHORTEST)(name, value))
    return checks.moment(name, value, "a datetime with a time zone, or seconds from now")


_COMMON: Final[Checks] = {
    "queue": checks.queue,
    "priority": checks.whole(-9, 9),
    "attempts": checks.whole(1, 1_000_000),
    "crashes": checks.whole(1, 1_000_000),
    "keep": checks.maybe(checks.seconds(0.0)),
    "tags": checks.tags,
}

TASK_CHECKS: Final[Checks] = {
    **_COMMON,
    "name": checks.task_name,
    "timeout": checks.maybe(checks.seconds(checks.SHORTEST)),
    "retry": checks.backoff,
    "safe": checks.flag,
    "executor": checks.executor,
    "group": checks.group_by,
    "rate": rate_of,
    "needs": checks.names,
    "unique": checks.unique_of_task,
}

JOB_CHECKS: Final[Checks] = {
    **_COMMON,
    "id": checks.job_id,
    "delay": checks.seconds(0.0),
    "at": checks.moment,
    "expires": _moment_or_seconds,
    "deadline": _moment_or_seconds,
    "timeout": checks.seconds(checks.SHORTEST),
    "retry": checks.backoff_without_code,
    "unique": checks.unique,
    "correlation_id": checks.key,
    "after": checks.after,
    "on": checks.on,
    "group": checks.maybe(checks.group),
}
