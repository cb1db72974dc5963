"""What a person may do to a job: the words, their fields, and what fits in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from noria.errors import InvalidOption, shown
from noria.model.limits import MAX_DELAY, MAX_PRIORITY
from noria.model.names import MAX_TAG, MAX_TAGS, check_name, check_text

Kind = Literal["cancel", "retry", "discard", "run", "edit", "move", "erase"]


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to do to jobs, if their state allows it.

    Attributes:
        kind: "cancel": end it as cancelled, at once or, if it runs, through its worker;
            "retry": queue a failed, cancelled or expired job again with fresh attempts and no time bounds;
            "discard": keep the record of a failed job, but count it as a dead letter no more;
            "run": let a scheduled or retrying job run now; one that is queued, or runs, does already;
            "edit": change a job that waits: it is scheduled, queued, retrying or parked;
            "move": have a job that waits wait in another queue;
            "erase": delete what is kept of an ended job, and count it as erased.
        note: why, for the record.
        delay: retry: seconds before it may run.
        attempts: retry: how many attempts it gets; None leaves their number as it is.
        body, codec: retry, and edit before its first start: new arguments; None leaves them.
        priority, tags: edit.
        run_at: edit: seconds since the epoch, before which it may not run; not for a parked job.
        expires: edit, before it has begun: the time by which it must have started; None lifts the bound.
        queue: move: where to.

    Raises:
        InvalidOption: a field is out of range, or does not belong to the kind.
    """

    kind: Kind
    note: str = ""
    delay: float = 0.0
    attempts: int | None = None
    body: bytes | None = None
    codec: str = "json"
    priority: int | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    run_at: float | UnsetType = UNSET
    expires: float | UnsetType | None = UNSET
    queue: str = ""

    def __post_init__(self) -> None:
        for field, (kinds, default, fits) in _FIELDS.items():
            value = getattr(self, field)
            if value is default or value == default:
                continue
            if self.kind not in kinds:
                raise InvalidOption(f"to {self.kind} a job takes no {field}", field=field)
            if not fits(value):
                raise InvalidOption(f"{field} cannot be {shown(value)}", field=field)
        if self.kind == "move":
            check_name("queue", self.queue)


def _number(least: float, most: float) -> Callable[[Any], bool]:
    # Written so that NaN fails as well.
    return lambda value: not isinstance(value, bool) and least <= value <= most


def _tags(value: Any) -> bool:
    return len(value) <= MAX_TAGS and all(check_text("tags", tag, MAX_TAG) for tag in value)


def _time(value: Any) -> bool:
    return value is None or _number(-_FURTHEST, _FURTHEST)(value)


_FURTHEST: Final = 1e12
"""Seconds that every store can hold with room to spare: 31,000 years."""
_MOST_ATTEMPTS: Final = 1 << 31

_FIELDS: Final[dict[str, tuple[tuple[Kind, ...], object, Callable[[Any], bool]]]] = {
    "delay": (("retry",), 0.0, _number(0, MAX_DELAY)),
    "attempts": (("retry",), None, _number(1, _MOST_ATTEMPTS)),
    "body": (("retry", "edit"), None, lambda _: True),
    "codec": (("retry", "edit"), "json", lambda value: value.isascii() and value.isprintable()),
    "priority": (("edit",), UNSET, _number(-MAX_PRIORITY, MAX_PRIORITY)),
    "tags": (("edit",), UNSET, _tags),
    "run_at": (("edit",), UNSET, lambda value: value is not None and _time(value)),
    "expires": (("edit",), UNSET, _time),
    "queue": (("move",), "", lambda _: True),
}
"""For each field the kinds that read it, what it is if it was not given, and whether a value fits."""
