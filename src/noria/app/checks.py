"""The checks behind the options: each takes (name, value) and gives the checked value, or refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeVar

from noria import ids
from noria.errors import InvalidInput, InvalidOption, shown
from noria.model.backoff import Backoff
from noria.model.groups import MAX_NEEDS, GroupRef
from noria.model.limits import MAX_AFTER, MAX_DELAY
from noria.model.names import MAX_KEY, MAX_TAG, MAX_TAGS, check_name, check_text
from noria.model.unique import Unique

T = TypeVar("T")

Check = Callable[[str, Any], Any]

_LAST: Final = 253_402_214_400.0
"""The last day of the year 9999, in whatever zone."""

SHORTEST: Final = 0.001
"""Time limits are at least a millisecond; backends count in these."""


def seconds(least: float) -> Check:
    """A duration in seconds: a finite number, no bool, from `least` to a century."""

    def check(name: str, value: Any) -> float:
        if is_number(value) and least <= value <= MAX_DELAY:
            return float(value)
        bound = f"at least {least:g}" if least else "0 or more"
        raise refusal(name, f"{bound} seconds, at most {MAX_DELAY:.0f}", value)

    return check


def whole(least: int, most: int) -> Check:
    """A whole number, no bool, from `least` to `most`."""

    def check(name: str, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return int(value)
        raise refusal(name, f"a whole number from {least:,} to {most:,}", value)

    return check


def patience(name: str, value: Any) -> float | None:
    """Seconds to wait: a number, of which less than none is none; None waits as long as it takes."""
    if value is None:
        return None
    if not is_number(value) or value != value:
        raise refusal(name, "a number of seconds, or None", value)
    return float(max(0.0, min(value, MAX_DELAY)))


def text(name: str, value: Any) -> str:
    """Any text that Unicode knows, also none."""
    if isinstance(value, str) and value.encode(errors="ignore").decode() == value:
        return value
    if isinstance(value, str):
        raise InvalidOption(f"{name} has a character that is not valid Unicode: {shown(value)}", field=name)
    raise refusal(name, "text", value)


def maybe(check: Check) -> Check:
    """None, or what `check` takes."""
    return lambda name, value: None if value is None else check(name, value)


def moment(name: str, value: Any, wanted: str = "a datetime with a time zone") -> float:
    """A datetime that knows its zone, as seconds since the epoch."""
    if not isinstance(value, datetime):
        raise refusal(name, wanted, value)
    if value.utcoffset() is None:
        raise InvalidOption(
            f"{name} is a date without zone, so nobody can say when it is; give it one, such as datetime.UTC",
            field=name,
        )
    seconds = value.timestamp()
    if 0 <= seconds <= _LAST:
        return seconds
    raise refusal(name, "a time in the years 1970 to 9999", value)


def queue(name: str, value: Any) -> str:
    """The name of a queue."""
    return check_name(name, value)


def task_name(name: str, value: Any) -> str:
    """The name of a task."""
    return check_name("task", value)


def backoff(name: str, value: Any) -> Backoff:
    """The waits between attempts."""
    if isinstance(value, Backoff):
        return value
    raise refusal(name, "a Backoff, such as Backoff(base=1, cap=600)", value)


def backoff_without_code(name: str, value: Any) -> Backoff:
    """The waits between attempts of one job, which cannot name exception classes."""
    checked = backoff(name, value)
    if checked.never:
        raise InvalidOption(
            f"{name} of a job cannot say `never`, since a job carries no code; say it on the task", field=name
        )
    return checked


def key(name: str, value: Any) -> str:
    """Text to compare jobs by."""
    return check_text(name, value, MAX_KEY)


def unique(name: str, value: Any) -> str | Unique | None:
    """A unique key, or how a job is unique; None: not at all."""
    return value if value is None or isinstance(value, Unique) else key(name, value)


def unique_of_task(name: str, value: Any) -> Unique | None:
    """How the jobs of a task are unique."""
    if value is None or isinstance(value, Unique):
        return value
    raise refusal(name, "a Unique, such as Unique(by='order_id'), or None", value)


def tags(name: str, value: Any) -> tuple[str, ...]:
    """A few short texts; a single one is refused, since its letters would become the tags."""
    if not isinstance(value, tuple | list) or len(value) > MAX_TAGS:
        raise refusal(name, f"a list of at most {MAX_TAGS} texts", value)
    return tuple(check_text(name, each, MAX_TAG) for each in value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise refusal(name, "True or False", value)


def executor(name: str, value: Any) -> str:
    """Where a task runs."""
    if value in ("async", "thread", "process"):
        return str(value)
    raise refusal(name, "'async', 'thread' or 'process'", value)


def job_id(name: str, value: Any) -> ids.Id:
    """A UUID, as such or as text."""
    return ids.from_text(value)


def names(name: str, value: Any) -> tuple[str, ...]:
    """Names of resources."""
    if not isinstance(value, tuple | list) or not 0 < len(value) <= MAX_NEEDS:
        raise refusal(name, f"a list of 1 to {MAX_NEEDS} names", value)
    return tuple(check_name("resource", each) for each in value)


def group(name: str, value: Any) -> GroupRef:
    """A group, as (family, key)."""
    if isinstance(value, GroupRef):
        return value
    if isinstance(value, tuple | list) and len(value) == 2:
        return GroupRef(value[0], value[1])
    raise refusal(name, "a family and a key, such as ('host', 'example.org')", value)


def group_by(name: str, value: Any) -> tuple[str, str | Callable[..., Any]]:
    """A family, and where the key is in the arguments."""
    if isinstance(value, tuple | list) and len(value) == 2:
        family, key = check_name("family", value[0]), value[1]
        if callable(key):
            return family, key
        return family, check_text(name, key, MAX_KEY)
    raise refusal(name, "a family and where its key is in the arguments, such as ('host', 'url.host')", value)


def several(name: str, value: Iterable[T], of: str) -> list[T]:
    """A list of what anybody may iterate over; text is refused, since its letters are not meant."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of {of}, not {shown(value)}", field=name)
    return list(value)


def is_number(value: object) -> bool:
    """Whether it is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def refusal(name: str, wanted: str, value: object) -> InvalidOption:
    """The error for a value that an option does not take."""
    return InvalidOption(f"{name} must be {wanted}, not {shown(value)}", field=name)


def after(name: str, value: Any) -> tuple[str, ...]:
    """A job to wait for, or several: drafts, jobs, or their ids; as hex, each once."""
    several = value if isinstance(value, list | tuple) else (value,)
    if len(several) > MAX_AFTER:
        raise InvalidOption(f"a job waits for at most {MAX_AFTER:,} others, not {len(several):,}", field=name)
    # Drafts and jobs have their ids as text; an id that is a UUID has no `id`.
    try:
        return tuple(dict.fromkeys(job_id(name, getattr(each, "id", each)).hex() for each in several))
    except InvalidInput as error:
        raise InvalidOption(str(error), field=name) from None


def on(name: str, value: Any) -> str:
    """How those that a job waits for must end for it to run."""
    if value in ("success", "complete", "failure"):
        return str(value)
    raise refusal(name, "'success', 'complete' or 'failure'", value)


def kept(task: str, keep: float | None) -> None:
    """See that the value of a job is still there when the one that follows it begins."""
    if keep == 0:
        raise InvalidOption(
            f"task {task!r} has keep=0, which erases its value before the job that follows could have it; keep it for "
            "some seconds, or give that job its arguments with task.job(...)",
            field="keep",
        )
