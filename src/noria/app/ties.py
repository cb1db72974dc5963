"""What ties jobs to others: families of groups and resources, declared once, and the group of each job."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from noria.backends.contract import Backend, FamilyRef, ResourceRef
from noria.errors import ConfigError, InvalidArguments, InvalidOption, shown
from noria.ids import Id, to_text
from noria.model.groups import Grouped, GroupRef, Need, Rate, Rule
from noria.model.job import NewJob
from noria.model.names import check_name

_RATE: Final = re.compile(r" *(\d{1,7}) */ *(\d*\.?\d*) *(ms|s|min|h|d) *", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
KeyOf = Callable[..., Any]


class GroupBy(Struct, frozen=True):
    """How the group of a task's jobs is found.

    Attributes:
        family: the kind of group.
        path: where the key is among the arguments by name, such as "tenant" or "order.customer.id"; "host" behind a
            text means the host of the URL in it. Empty if a function gives it.
        left_out: what the argument is that the path begins with if a job leaves it out; unset if none may.
    """

    family: str
    path: str = ""
    left_out: Any = UNSET


class Ties(Struct, frozen=True, omit_defaults=True):
    """What ties the jobs of a task to others; published with the task.

    Attributes:
        group: how their group is found; rule: that of its family.
        needs: the resources of which each job needs a token; the rate of the task is one of them.
    """

    group: GroupBy | None = None
    rule: Rule | None = None
    needs: tuple[Need, ...] = ()


NO_TIES: Final = Ties()


@runtime_checkable
class Bound(Protocol):
    """What a task says about its ties."""

    @property
    def name(self) -> str: ...
    @property
    def handler(self) -> Callable[..., Any]: ...
    @property
    def group(self) -> tuple[str, str | KeyOf] | None: ...
    @property
    def rate(self) -> Rate | None: ...
    @property
    def needs(self) -> tuple[str, ...]: ...


@runtime_checkable
class Published(Protocol):
    """A task as others know it."""

    @property
    def ties(self) -> Ties: ...


def rate_of(name: str, value: Any, burst: int = 1) -> Rate | None:
    """A rate as people write it: "10/s", "100/5min", or a `Rate`.

    Raises:
        InvalidOption: it is none, or `burst` has nothing to belong to.
    """
    if value is None or isinstance(value, Rate):
        if burst != 1:
            raise InvalidOption('burst belongs to a rate in words: rate="10/s", burst=5', field="burst")
        return value
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] == ".":
        raise InvalidOption(
            f'{name} must be a rate such as "10/s", "100/5min" or "1000/d", not {shown(value)}', field=name
        )
    return Rate(int(found[1]), float(found[2] or 1) * _UNITS[found[3]], burst)


class Families:
    """The families and resources of an application, by name.

    Attributes:
        rules: of the families.
        resources: what was declared of them.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.resources: dict[str, Need] = {}
        self._ties: dict[str, Ties] = {}

    def group(
        self,
        name: str,
        *,
        limit: int | None = None,
        rate: str | Rate | None = None,
        burst: int = 1,
        ordered: bool = False,
        aside: int | None = None,
        fair: bool = True,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        """Declare a family of groups, such as "host", "tenant" or "account"; each key of it is a group.

        Args:
            limit: how many jobs of one group may run at once, across all workers; None for any number.
            rate: how often one of them may start: "1/s", "100/5min".
            burst: how many may start at once, after a while without any.
            ordered: one at a time, in order; a job that is to be tried again holds up those behind it.
            aside: with `ordered`: after so many failed attempts a job lets the others pass.
            fair: groups take turns, whatever waits in each; else the oldest job is always the next one.
            weights: how many turns some keys get for each turn of another.

        Raises:
            InvalidName: the name has a form that no backend accepts.
            InvalidOption: a value is out of range, contradicts another, or the family is declared already.
        """
        check_name("family", name)
        if name in self.rules:
            raise InvalidOption(f"the family {name!r} is declared twice", field="name")
        self.rules[name] = Rule(limit, rate_of("rate", rate, burst), ordered, aside, fair, _own(weights))

    def resource(
        self, name: str, *, capacity: int | None = None, rate: str | Rate | None = None, burst: int = 1
    ) -> None:
        """Declare a resource, of which a task says `needs=("tunnel",)`: its jobs hold a token each while they run.

        Args:
            capacity: how many tokens there are; None for any number.
            rate, burst: how often one may be taken, as of a family.

        Raises:
            InvalidName: the name has a form that no backend accepts.
            InvalidOption: a value is out of range, it limits nothing, or the resource is declared already.
        """
        check_name("resource", name)
        if name in self.resources:
            raise InvalidOption(f"the resource {name!r} is declared twice", field="name")
        if capacity is None and rate is None:
            raise InvalidOption(
                f"the resource {name!r} limits nothing: give capacity or rate", field="capacity"
            )
        self.resources[name] = Need(name, capacity, rate_of("rate", rate, burst))

    def rule(self, family: str) -> Rule:
        """The rule of a family.

        Raises:
            ConfigError: it is not declared.
        """
        if family not in self.rules:
            raise ConfigError(f"no family {family!r} is declared: app.group({family!r}, limit=…)")
        return self.rules[family]

    def ties_of(self, task: Bound) -> Ties:
        """What ties the jobs of a task to others.

        Raises:
            ConfigError: its family or a resource is not declared, or its path begins with no argument of it.
        """
        found = self._ties.get(task.name)
        if found is None:
            found = self._ties[task.name] = self._read(task)
        return found

    def placed(self, new: NewJob, task: object, group: GroupRef | UnsetType | None) -> NewJob:
        """A job of a task whose code need not be here, with its group and needs.

        Args:
            group: as its options say; left out, its arguments do.

        Raises:
            InvalidArguments, InvalidOption: as `tied`.
        """
        assert isinstance(task, Published | Bound), "a task of this program, or of another"
        ties = task.ties if isinstance(task, Published) else self.ties_of(task)
        if group is UNSET:
            return tied(new, ties)
        if group is None:
            return grouped(new, ties, "", None)
        rule = ties.rule if ties.group is not None and ties.group.family == group.family else None
        return replace(new, group=Grouped(group, rule or self.rules.get(group.family)), needs=ties.needs)

    async def declare(self, backend: Backend) -> None:
        """Tell the store of all that is declared, so that it also holds for jobs that are there already.

        Raises:
            BackendError: not all of it may be told; repeating it is safe.
        """
        if not backend.capabilities.groups:
            return
        for family, rule in self.rules.items():
            await backend.steer(FamilyRef(family), rule)
        for name, need in self.resources.items():
            await backend.steer(ResourceRef(name), need)

    def _read(self, task: Bound) -> Ties:
        if task.group is None and task.rate is None and not task.needs:
            return NO_TIES
        needs = [Need(f"task:{task.name}", rate=task.rate)] if task.rate is not None else []
        for name in task.needs:
            if name not in self.resources:
                raise ConfigError(
                    f"task {task.name!r} needs {name!r}, which is not declared: app.resource({name!r}, capacity=…)"
                )
            needs.append(self.resources[name])
        if task.group is None:
            return Ties(needs=tuple(needs))
        family, key = task.group
        by = GroupBy(family, key, _left_out(task, key)) if isinstance(key, str) else GroupBy(family)
        return Ties(by, self.rule(family), tuple(needs))


def _left_out(task: Bound, path: str) -> Any:
    """The default of the argument with which a path begins, as JSON has it; there must be such an argument."""
    name = path.partition(".")[0]
    parameter = inspect.signature(task.handler).parameters.get(name)
    if parameter is None:
        raise ConfigError(f"task {task.name!r}: its group is at {path!r}, and it has no argument {name!r}")
    if parameter.default is inspect.Parameter.empty:
        return UNSET
    try:
        return msgspec.to_builtins(parameter.default)
    except TypeError:  # such as a model of pydantic: jobs of it have to say theirs
        return UNSET


def _own(weights: Any) -> Any:
    """Weights that nobody else can change; what are none is told of by the rule."""
    if weights is None:
        return {}
    return dict(weights) if isinstance(weights, Mapping) else weights


def tied(new: NewJob, ties: Ties) -> NewJob:
    """A job with the group that its arguments say, and the needs of its task.

    Raises:
        InvalidArguments: there is no key at the path.
        InvalidOption: a function gives the key, and none is here.
    """
    if ties is NO_TIES:
        return new
    if ties.group is None:
        return replace(new, needs=ties.needs)
    if not ties.group.path:
        raise InvalidOption(
            f"task {new.task!r} finds the group of a job by a function of its own, which is not here: give group",
            field="group",
        )
    found = _follow(new, ties.group)
    return grouped(new, ties, ties.group.family, _key(new, ties.group, found))


def check_same_group(id: Id, stays: GroupRef | None, edited: NewJob) -> None:
    """A job stays in the group into which it was enqueued, so its arguments may not begin to say another one.

    Args:
        id: of the job.
        stays: its group.
        edited: a job with the arguments that it is to have.

    Raises:
        InvalidArguments: they say another group.
    """
    said = None if edited.group is None else edited.group.ref
    if stays is not None and said is not None and said != stays:
        raise InvalidArguments(
            f"job {to_text(id)} is of group {stays.family}={stays.key}, and these arguments are of "
            f"{said.family}={said.key}: enqueue a copy with them instead",
            field="args",
        )


def grouped(new: NewJob, ties: Ties, family: str, key: str | None, rule: Rule | None = None) -> NewJob:
    """A job in this group, or in none, with the needs of its task.

    Args:
        rule: of the family, if it is not that of the task.
    """
    rule = ties.rule if rule is None else rule
    group = None if key is None or rule is None else Grouped(GroupRef(family, key), rule)
    return replace(new, group=group, needs=ties.needs)


def check_group_known(task: Bound, feed: str) -> None:
    """See that the group of a job can be told without an argument that comes only when it starts.

    Args:
        feed: the argument that it is given then.

    Raises:
        InvalidOption: its task finds it there, or by a function, which would be given the argument.
    """
    family, key = task.group or ("", "")
    if family and (not isinstance(key, str) or key.partition(".")[0] == feed):
        where = f"at {key!r} in its arguments" if isinstance(key, str) else "by a function of its arguments"
        raise InvalidOption(
            f"task {task.name!r} finds the group of a job {where}, and {feed!r} is the value of the job before it, "
            f"which is not known before it starts: say options(group=({family!r}, key)), or group=None",
            field="group",
        )


def key_by(
    function: KeyOf, new: NewJob, family: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str | None:
    """The key that a function finds in the arguments of a call.

    Raises:
        InvalidArguments: it gives no key, or raises.
    """
    try:
        found = function(*args, **kwargs)
    except Exception as error:
        why = f"its function raised {type(error).__name__}: {error}"
        raise _no_key(new, GroupBy(family), why) from error
    return _key(new, GroupBy(family), found)


def _key(new: NewJob, by: GroupBy, found: Any) -> str | None:
    """A key as text; None stays none: the job has no group then."""
    if isinstance(found, bool) or (found is not None and not isinstance(found, str | int | float)):
        raise _no_key(new, by, f"a key is text or a number, not {type(found).__name__}")
    if found is None:
        return None
    try:
        return GroupRef(by.family, str(found)).key
    except InvalidOption as error:
        raise _no_key(new, by, str(error)) from None


def _follow(new: NewJob, by: GroupBy) -> Any:
    value, path = msgspec.json.decode(new.body), by.path
    if isinstance(value, dict) and by.left_out is not UNSET:
        value.setdefault(path.partition(".")[0], by.left_out)
    for step in path.split("."):
        if isinstance(value, str) and step == "host":
            value = _host(new, value, path)
        elif isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise InvalidArguments(
                f"task {new.task!r}: its group is at {path!r} in the arguments, and nothing is there: give it, or "
                "say options(group=…)",
                field=path,
            )
    return value


def _host(new: NewJob, url: str, path: str) -> str:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise InvalidArguments(
            f"task {new.task!r}: its group is {path!r}, and {shown(url)} is no URL with a host", field=path
        )
    return host


def _no_key(new: NewJob, by: GroupBy, why: str) -> InvalidArguments:
    return InvalidArguments(
        f"task {new.task!r}: it has no group of family {by.family!r}: {why}", field=by.path
    )
