"""Groups, and the resources that jobs need: what limits them, and who is in line. Values and arithmetic, no I/O.

A *family* is a kind of group, declared once, with a rule; a *group* is one key of it: a host, a tenant, an account. A
*resource* has a name and no keys: a few tunnels, or how often a task may start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from noria.errors import InvalidOption, shown
from noria.ids import Id
from noria.model.names import MAX_KEY, check_name, check_text

WINDOW: Final = 8
"""How many jobs of a fair group of weight 1 may be eligible at once: more are shared less evenly, fewer
are leased more slowly."""
MAX_LIMIT: Final = 1_000_000
MAX_WEIGHT: Final = 100
MAX_WEIGHTS: Final = 1_000
MAX_NEEDS: Final = 8
"""Resources that one job may need."""
_SLACK: Final = 1e-6
"""Of a token: what arithmetic with fractions may be off by."""


class Rate(Struct, frozen=True):
    """So many starts in so many seconds, by the backend's clock.

    In any span of time there are never more than `burst` starts beyond what the span is worth.

    Attributes:
        times, seconds: 10 times in 1 second.
        burst: how many may start at once, after a while without any.

    Raises:
        InvalidOption: a number is out of range.
    """

    times: int
    seconds: float = 1.0
    burst: int = 1

    def __post_init__(self) -> None:
        fits = _is_number(self.seconds) and 0.001 <= self.seconds <= 366 * 86_400
        if not fits or not _is_whole(self.times, MAX_LIMIT):
            raise InvalidOption(
                f"a rate is 1 to {MAX_LIMIT:,} times in 0.001 seconds to a year, not {shown(self.times)} in "
                f"{shown(self.seconds)}",
                field="rate",
            )
        if not _is_whole(self.burst, MAX_LIMIT):
            raise InvalidOption(
                f"a burst is 1 to {MAX_LIMIT:,} starts, not {shown(self.burst)}", field="burst"
            )

    @property
    def gap(self) -> float:
        """Milliseconds that one start is worth."""
        return self.seconds * 1000 / self.times

    def tokens(self, tat: float, now: int) -> int:
        """How many may start now.

        Args:
            tat: when the last of those that started would have done so in an even flow, in milliseconds.
            now: in milliseconds.
        """
        return self.burst - max(0, math.ceil((tat - now) / self.gap - _SLACK))

    def owed(self, tat: float, now: int) -> float:
        """`tat` as far as this rate can owe it: what a slower one has left behind holds up nobody."""
        return min(tat, now + self.burst * self.gap)

    def take(self, tat: float, now: int, n: int = 1) -> float:
        """`tat` after so many have started."""
        return max(tat, float(now)) + n * self.gap

    def when(self, tat: float, n: int) -> int:
        """When there will be so many tokens, at most `burst`; in milliseconds."""
        return math.ceil(tat - (self.burst - n) * self.gap - _SLACK)


class Rule(Struct, frozen=True, omit_defaults=True, tag="rule"):
    """What holds for each group of a family.

    Attributes:
        limit: how many of its jobs may run at once; None for any number.
        rate: how often one may start.
        ordered: one at a time, in order, and one that is to be tried again holds up those behind it.
        aside: of an ordered family: after so many failed attempts a job lets the others pass.
        fair: groups take turns, whatever waits in each; else the oldest job is the next one.
        weights: of a fair family: for some keys, how many turns they get for each turn of another.

    Raises:
        InvalidOption: a number is out of range, or a field does not go with another.
    """

    limit: int | None = None
    rate: Rate | None = None
    ordered: bool = False
    aside: int | None = None
    fair: bool = True
    weights: Mapping[str, int] = {}

    def __post_init__(self) -> None:
        _check_whole("limit", self.limit, MAX_LIMIT)
        _check_whole("aside", self.aside, MAX_LIMIT)
        _check_flag("ordered", self.ordered)
        _check_flag("fair", self.fair)
        _check_rate(self.rate)
        if not isinstance(self.weights, Mapping):
            raise InvalidOption(
                f"weights must say a whole number for each key, not {shown(self.weights)}", field="weights"
            )
        if self.ordered and self.limit not in (None, 1):
            raise InvalidOption(
                "a family that keeps the order runs one job at a time: limit=1", field="limit"
            )
        if self.aside is not None and not self.ordered:
            raise InvalidOption("aside belongs to a family that keeps the order: ordered=True", field="aside")
        if self.weights and not self.fair:
            raise InvalidOption("weights belong to a fair family", field="weights")
        if len(self.weights) > MAX_WEIGHTS:
            raise InvalidOption(f"a family has at most {MAX_WEIGHTS:,} weights", field="weights")
        for key, weight in self.weights.items():
            check_text("weights", key, MAX_KEY)
            _check_whole("weights", weight, MAX_WEIGHT)

    @property
    def most(self) -> int | None:
        """How many jobs of a group may run at once."""
        return 1 if self.ordered else self.limit

    def window(self, key: str) -> int | None:
        """How many jobs of a group may be eligible at once for the sake of fairness; None for any number."""
        return WINDOW * self.weights.get(key, 1) if self.fair else None

    def tracks(self, key: str) -> bool:
        """Whether it matters how many of a group's jobs are eligible, and not only how many places are taken."""
        window, most = self.window(key), self.most
        return self.rate is not None or (window is not None and (most is None or most > window))

    def holds(self, spent: int) -> bool:
        """Whether a job that is to be tried again, after so many failed attempts, keeps its place."""
        return self.ordered and (self.aside is None or spent < self.aside)


class GroupRef(Struct, frozen=True, order=True, tag="group"):
    """A group: a family and a key.

    Raises:
        InvalidName: no family can have this name.
        InvalidOption: the key is empty, has more than 512 characters, or some that cannot be shown.
    """

    family: str
    key: str

    def __post_init__(self) -> None:
        check_name("family", self.family)
        check_text("group", self.key, MAX_KEY)


class Grouped(Struct, frozen=True):
    """The group of a job that is enqueued, and the rule of its family; None if the producer does not know it."""

    ref: GroupRef
    rule: Rule | None = None


class Need(Struct, frozen=True, order=True, omit_defaults=True, tag="need"):
    """One token of a resource, which a job holds while it runs; and what the producer knows about the resource.

    Attributes:
        name: of the resource; "task:NAME" is the rate of a task.
        capacity: how many tokens there are; None for any number.
        rate: how often one may be taken. With neither it is as others have said.
    """

    name: str
    capacity: int | None = None
    rate: Rate | None = None

    def __post_init__(self) -> None:
        check_name("resource", self.name.removeprefix("task:"))
        _check_whole("capacity", self.capacity, MAX_LIMIT)
        _check_rate(self.rate)


def known(group: Grouped | None, needs: Iterable[Need]) -> tuple[Grouped | None, tuple[Need, ...]]:
    """The same group and needs without what is known about them now, for jobs that are made later."""
    return None if group is None else Grouped(group.ref), tuple(Need(need.name) for need in needs)


class Closed(Struct, frozen=True):
    """A group of which no job is started for a while.

    Attributes:
        until: seconds since the epoch; None until somebody opens it.
        reason, by: why and by whom, for people.
    """

    until: float | None = None
    reason: str = ""
    by: str = ""


class GroupLine(Struct, frozen=True, kw_only=True):
    """A group that is in use.

    Attributes:
        rule: of its family.
        taken: how many of its places are: by jobs that run, that are eligible, or that hold up others.
        holders: the first hundred of those.
        waiting: how many wait, counted to 10,000.
        closed: if no job is started for a while.
        next_at: when the next one may start by the rate; None if one may now, or there is no rate.
    """

    ref: GroupRef
    rule: Rule
    taken: int
    holders: tuple[Id, ...]
    waiting: int
    closed: Closed | None = None
    next_at: float | None = None


class ResourceLine(Struct, frozen=True, kw_only=True):
    """A resource.

    Attributes:
        used: how many of its tokens running jobs hold.
        holders: the first hundred of those jobs.
        next_at: as of a group.
    """

    need: Need
    used: int
    holders: tuple[Id, ...]
    next_at: float | None = None


def _check_whole(field: str, value: int | None, most: int) -> None:
    if value is not None and not _is_whole(value, most):
        raise InvalidOption(
            f"{field} must be a whole number from 1 to {most:,}, not {shown(value)}", field=field
        )


def _check_flag(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidOption(f"{field} must be True or False, not {shown(value)}", field=field)


def _check_rate(value: object) -> None:
    if value is not None and not isinstance(value, Rate):
        raise InvalidOption(f"rate must be a Rate, not {shown(value)}", field="rate")


def _is_whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
