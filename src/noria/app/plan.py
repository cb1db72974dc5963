"""Everything about a job but its arguments: the task's defaults, and what a caller's options change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from msgspec import UNSET, UnsetType
from msgspec.structs import fields, replace

from noria.app.options import JOB_CHECKS, Ahead, check_options
from noria.clock import Clock
from noria.codecs import DEFAULT
from noria.errors import InvalidOption
from noria.ids import Id, IdSource
from noria.model.groups import GroupRef
from noria.model.job import NO_EXTRAS, Extras, NewJob
from noria.model.task import LANES, Executor
from noria.model.unique import Unique

_USUAL: Final = {each.name: each.default for each in fields(NewJob)}
"""What `NewJob` takes when nothing is said; not to say it makes a job in a quarter of the time."""

_EXTRAS: Final = frozenset(Extras.__struct_fields__)


class Defaults(Protocol):
    """What a task says about its jobs, wherever that is known from."""

    @property
    def name(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def priority(self) -> int: ...
    @property
    def attempts(self) -> int: ...
    @property
    def crash_budget(self) -> int: ...
    @property
    def keep(self) -> float | None: ...
    @property
    def tags(self) -> tuple[str, ...]: ...
    @property
    def unique(self) -> Unique | None: ...


class Plan:
    """Makes jobs that differ in nothing but id, arguments and the time at which they are made.

    Args:
        fixed: fields of `NewJob` that are the same for each of them.
        until: `expires` and `deadline`, if they are counted from the time at which a job is made.
        group: the group of each, or None for none; left out, their arguments say it.
        unique: how each of them is unique, if more is said of that than a key.
    """

    __slots__ = ("_fixed", "_id", "_until", "group", "unique")

    def __init__(
        self,
        fixed: dict[str, Any],
        until: Mapping[str, Ahead],
        id: Id | None,
        unique: Unique | None = None,
        group: GroupRef | UnsetType | None = UNSET,
    ) -> None:
        self.group = group
        self._fixed = fixed
        self._until = until
        self._id = id
        self.unique = unique

    @classmethod
    def of(cls, task: Defaults, options: Mapping[str, Any]) -> Plan:
        """What the options make of a task's defaults.

        Raises:
            InvalidOption: an option is unknown, of the wrong type or out of range, or two contradict.
        """
        given = check_options(f"a job of task {task.name!r}", options, JOB_CHECKS)
        if "delay" in given and "at" in given:
            raise InvalidOption("delay and at both say when the job may run; give one of them", field="at")
        if "on" in given and not given.get("after"):
            raise InvalidOption("on says how the jobs of after must end; name some there", field="on")
        id, group = given.pop("id", None), given.pop("group", UNSET)
        until = {
            name: given.pop(name) for name in ("expires", "deadline") if isinstance(given.get(name), Ahead)
        }
        extras: dict[str, Any] = {"tags": task.tags} if task.tags else {}
        extras |= {name: given.pop(name) for name in _EXTRAS & given.keys()}
        if "crashes" in given:
            given["crash_budget"] = given.pop("crashes")
        unique = given.pop("unique", task.unique)
        if isinstance(unique, Unique):
            given |= {"unique": unique.key or None, "claim": unique.claim}
        elif unique is not None:
            given["unique"] = unique
        fixed = {**_defaults(task), **given, "extras": Extras(**extras) if extras else NO_EXTRAS}
        plain = {name: value for name, value in fixed.items() if value != _USUAL[name]}
        return cls(plain, until, id, unique if isinstance(unique, Unique) else None, group)

    def job(self, body: bytes, ids: IdSource, clock: Clock) -> NewJob:
        """A job with these arguments; a new one each time, unless the options name an id.

        Raises:
            InvalidOption: it would have to start, or finish, before it may run; or its unique key is made of an
                argument that is not given.
        """
        job = NewJob(id=self._id or ids.next(), body=body, **self._fixed)
        if self.unique is not None and self.unique.by:
            job = replace(job, unique=self.unique.key_of(body))
        if self._until:
            now = clock.wall()
            job = replace(job, **{name: now + ahead for name, ahead in self._until.items()})
        if job.at is not None and job.at <= clock.wall():
            # From here on it waits like any other: one that could have run in 1970 does not overtake them all.
            job = replace(job, at=None)
        if job.expires is not None or job.deadline is not None:
            _check_order(job, clock.wall())
        return job


def _defaults(task: Defaults) -> dict[str, Any]:
    return {
        "task": task.name,
        "queue": task.queue,
        "codec": DEFAULT.name,
        "lane": LANES[task.executor],
        "priority": task.priority,
        "attempts": task.attempts,
        "crash_budget": task.crash_budget,
        "keep": task.keep,
    }


def _check_order(job: NewJob, now: float) -> None:
    due = now + job.delay if job.at is None else job.at
    for field, end in (("expires", job.expires), ("deadline", job.deadline)):
        if end is not None and end <= due and due > now:
            raise InvalidOption(f"{field} is over before the job may run; it could only expire", field=field)
