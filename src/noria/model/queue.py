"""What bounds a queue: the order of its jobs, how long they may wait, how many of them, how many may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from noria.errors import InvalidOption, shown
from noria.model.limits import AGEING
from noria.model.names import is_name
from noria.model.state import State
from noria.model.wording import count

Order = Literal["oldest", "newest"]

MAX_SECONDS: Final = 366 * 24 * 3600.0
"""Of an age, and of a step of ageing: more has no meaning, and might not fit into a rank."""
MAX_COUNT: Final = 1_000_000_000
"""Of jobs that wait or run."""
MAX_WEIGHT: Final = 1_000
MAX_MARKS: Final = 16
"""Other queues that may hold one."""


class QueueLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits that hold for one queue; by default none.

    Attributes:
        order: which of two jobs of one priority is leased first: the one that is due the longest, or the shortest.
        ageing: seconds of waiting that are worth one step of priority.
        max_age: seconds that a job may wait, from its due time on, without having begun; then it expires.
        max_length: how many jobs may wait; a push of more is refused. Timers, retries and follow-ups are not.
        concurrency: how many jobs of the queue run at once, in all workers.
        high_water: other queues, and for each how many jobs have to wait there so that it backs up (`backs_up`); as
            long as one does, no job of this queue is leased.
    """

    order: Order = "oldest"
    ageing: float = AGEING
    max_age: float | None = None
    max_length: int | None = None
    concurrency: int | None = None
    high_water: Mapping[str, int] | None = None


NO_LIMITS: Final = QueueLimits()

WAITS_TO_RUN: Final = (State.QUEUED, State.WAITING, State.PARKED)
"""States of jobs of which a high water is made: they could run by now."""
GOES_ON: Final = (State.QUEUED, State.RUNNING, State.ASKING)
"""States of jobs by which workers get on with a queue."""


class Limit(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="limit"):
    """A change of the limits of a queue: of those fields that are named, and no others. None lifts a limit.

    Order, ageing and `max_age` hold for jobs that come to wait from then on; the rest for all at once.

    Attributes:
        order, ageing, max_age, max_length, concurrency, high_water: as in `QueueLimits`.

    Raises:
        InvalidOption: a value is of the wrong type or out of range.
    """

    order: Order | UnsetType | None = UNSET
    ageing: float | UnsetType | None = UNSET
    max_age: float | UnsetType | None = UNSET
    max_length: int | UnsetType | None = UNSET
    concurrency: int | UnsetType | None = UNSET
    high_water: Mapping[str, int] | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        for field, value in self.named().items():
            if value is not None:
                check_limit(field, value)

    def named(self) -> dict[str, Any]:
        """What it names."""
        values = structs.asdict(self)
        return {field: value for field, value in values.items() if value is not UNSET}

    def applied(self, limits: QueueLimits) -> QueueLimits:
        """The limits after it."""
        plain = structs.asdict(NO_LIMITS)
        named = {field: plain[field] if value is None else value for field, value in self.named().items()}
        return structs.replace(limits, **named)


def whole(limits: QueueLimits) -> Limit:
    """The change that makes a queue have these limits and no others."""
    return Limit(**structs.asdict(limits))


def difference(before: QueueLimits | None, after: QueueLimits) -> Limit:
    """The change from one declaration to the next: None stands for a queue that was never declared.

    Of one that was not, only what is declared is named, so that what a person has set before it stays.
    """
    old = structs.asdict(before or NO_LIMITS)
    return Limit(**{field: value for field, value in structs.asdict(after).items() if value != old[field]})


def check_limit(field: str, value: Any) -> None:
    """Accept one limit, or say what is wrong with it.

    Raises:
        InvalidOption: it is of the wrong type or out of range.
    """
    fits, wanted = _FIELDS[field]
    if not fits(value):
        raise InvalidOption(
            f"{field} must be {wanted}, not {shown(value)}{_INSTEAD.get(field, '')}", field=field
        )


def check_sense(limits: QueueLimits) -> None:
    """See that limits make sense together.

    Raises:
        InvalidOption: the newest jobs come first, and nothing ends those that are never reached.
    """
    if limits.order == "newest" and limits.max_age is None:
        raise InvalidOption(
            'order="newest" wants a max_age: under load the oldest jobs are never reached, and would wait for ever',
            field="max_age",
        )


def limits_in_words(limits: QueueLimits) -> str:
    """The limits that hold, for people."""
    words = []
    if limits.concurrency is not None:
        words.append(f"at most {count(limits.concurrency, 'job')} at once")
    if limits.max_length is not None:
        words.append(f"at most {limits.max_length:,} waiting")
    if limits.max_age is not None:
        words.append(f"none older than {limits.max_age:g} s")
    if limits.order == "newest":
        words.append("newest first")
    if limits.ageing != AGEING:
        words.append(f"ageing {limits.ageing:g} s")
    for other, most in (limits.high_water or {}).items():
        words.append(f"held while {most:,} wait in {other!r}")
    return ", ".join(words) or "no limits"


def backs_up(states: Mapping[int, int] | Mapping[State, int], most: int) -> bool:
    """Whether a queue with so many jobs in each state has reached a high water.

    So many of its jobs wait that could run by now: queued, in line, or parked. And workers get on with it, since one is
    queued or runs: where all of them wait for others, those may be the very jobs that would be held.
    """
    waiting = sum(states.get(state, 0) for state in WAITS_TO_RUN)
    return waiting >= most and any(states.get(state, 0) > 0 for state in GOES_ON)


def check_circle(queue: str, marks: Mapping[str, Mapping[str, int] | None]) -> None:
    """See that a queue is not held by itself, through whatever others.

    Args:
        queue: whose high water has changed.
        marks: of each queue that has any, those that hold it.

    Raises:
        InvalidOption: it is.
    """
    path = _way_back(queue, queue, marks, {queue})
    if path is None:
        return
    if path == [queue]:
        raise InvalidOption(f"queue {queue!r} cannot be held by itself", field="high_water")
    through = "".join(f", which is held by {name!r}" for name in path[1:])
    raise InvalidOption(
        f"queue {queue!r} cannot be held by {path[0]!r}{through}: each would wait for the other",
        field="high_water",
    )


def _way_back(
    at: str, home: str, marks: Mapping[str, Mapping[str, int] | None], seen: set[str]
) -> list[str] | None:
    for other in marks.get(at) or ():
        if other == home:
            return [other]
        if other not in seen:
            seen.add(other)
            path = _way_back(other, home, marks, seen)
            if path is not None:
                return [other, *path]
    return None


def check_weights(weights: Mapping[str, int]) -> None:
    """See that each queue has a weight that can be shared by.

    Raises:
        InvalidOption: one has not.
    """
    for queue, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= MAX_WEIGHT:
            raise InvalidOption(
                f"the weight of queue {queue!r} must be a whole number from 1 to {MAX_WEIGHT:,}, not {shown(weight)}",
                field="weight",
            )


def _seconds(value: Any) -> bool:
    # Written so that NaN fails as well.
    return not isinstance(value, bool) and isinstance(value, int | float) and 0.001 <= value <= MAX_SECONDS


def _marks(value: Any) -> bool:
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MAX_MARKS:
        return False
    return all(is_name(queue) for queue in value) and all(_jobs(1)(most) for most in value.values())


def _jobs(least: int) -> Callable[[Any], bool]:
    return lambda value: (
        not isinstance(value, bool) and isinstance(value, int) and least <= value <= MAX_COUNT
    )


_FIELDS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "order": (lambda value: value in ("oldest", "newest"), '"oldest" or "newest"'),
    "ageing": (_seconds, "0.001 seconds to a year"),
    "max_age": (_seconds, "0.001 seconds to a year"),
    "max_length": (_jobs(0), "a whole number from 0 to 1,000,000,000"),
    "concurrency": (_jobs(1), "a whole number from 1 to 1,000,000,000"),
    "high_water": (_marks, "1 to 16 other queues with a whole number from 1 to 1,000,000,000 each"),
}
"""For each limit whether a value fits, and what would."""
_INSTEAD: Final = {"concurrency": "; pause the queue to run none of its jobs"}
"""What to do instead."""

_decoder: Final = msgspec.json.Decoder(QueueLimits)


def read_limits(data: bytes | str) -> QueueLimits:
    """Limits as they were written as JSON.

    Raises:
        msgspec.DecodeError: they are of a version that this program does not know.
    """
    return _decoder.decode(data)
