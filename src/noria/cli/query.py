"""The words by which `noria jobs list` finds jobs: state:failed task:shop.send tag:vip created:>2h dead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from noria.backends.contract import Query
from noria.cli.quantities import read_seconds
from noria.errors import InvalidInput
from noria.model.names import check_name
from noria.model.state import State

WORDS: Final = "state: task: queue: tag: correlation: created: dead"


def parse(words: Iterable[str], now: float) -> Query:
    """Read query words; all must match, and several values of one word are alternatives.

    Args:
        words: each `name:value`, or `dead`. `state:`, `task:` and `queue:` take comma lists and may repeat.
            `created:>2h` means more than two hours ago, `created:<2h` within the last two hours; a date or
            time in RFC 3339 instead of an age means after (`>`) or before (`<`) it.
        now: seconds since the epoch, from which ages count.

    Raises:
        InvalidInput: a word is unknown, or its value has the wrong form.
    """
    query = Query()
    for word in words:
        name, colon, value = word.partition(":")
        if word in ("dead", "dead:true"):
            query = replace(query, dead=True)
        elif not colon or name not in _READERS:
            raise InvalidInput(f"{word!r:.60} is no query word; these are: {WORDS}", field="query")
        elif not value:
            raise InvalidInput(f"{name}: needs a value, such as {_EXAMPLES[name]}", field="query")
        else:
            query = _READERS[name](query, value, now)
    return query


def states(text: str) -> tuple[State, ...]:
    """Read a comma list of states.

    Raises:
        InvalidInput: one is unknown.
    """
    known = {state.word: state for state in State}
    for word in text.split(","):
        if word not in known:
            raise InvalidInput(f"{word!r:.40} is no state; these are: {', '.join(known)}", field="query")
    return tuple(dict.fromkeys(known[word] for word in text.split(",")))


def _states(query: Query, value: str, now: float) -> Query:
    return replace(query, states=query.states + states(value))


def _tasks(query: Query, value: str, now: float) -> Query:
    return replace(query, tasks=query.tasks + _names("task", value))


def _queues(query: Query, value: str, now: float) -> Query:
    return replace(query, queues=query.queues + _names("queue", value))


def _names(kind: str, value: str) -> tuple[str, ...]:
    return tuple(check_name(kind, name) for name in value.split(","))


def _tag(query: Query, value: str, now: float) -> Query:
    return replace(query, tag=_once("tag", query.tag, value))


def _correlation(query: Query, value: str, now: float) -> Query:
    return replace(query, correlation_id=_once("correlation", query.correlation_id, value))


def _once(name: str, before: str, value: str) -> str:
    if before and before != value:
        raise InvalidInput(f"{name}: can be given once", field="query")
    return value


def _created(query: Query, value: str, now: float) -> Query:
    sign, text = value[:1], value[1:]
    if sign not in ("<", ">"):
        raise InvalidInput(f"created: needs < or >, such as {_EXAMPLES['created']}", field="query")
    point = _point(text)
    older = (sign == ">") if point is None else (sign == "<")
    if point is None:
        point = now - read_seconds(text)
    if older:
        return replace(query, created_before=min(point, query.created_before or point))
    return replace(query, created_after=max(point, query.created_after or point))


def _point(text: str) -> float | None:
    """A point in time; None if the text does not look like a date."""
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r:.40} is no date or time; write 2026-11-30 or 2026-11-30T08:00Z", field="query"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


_READERS: Final[dict[str, Callable[[Query, str, float], Query]]] = {
    "state": _states,
    "task": _tasks,
    "queue": _queues,
    "tag": _tag,
    "correlation": _correlation,
    "created": _created,
}
_EXAMPLES: Final[dict[str, Any]] = {
    "state": "state:failed,expired",
    "task": "task:send_mail",
    "queue": "queue:mail",
    "tag": "tag:vip",
    "correlation": "correlation:req-5",
    "created": "created:<2h (younger than two hours) or created:>2026-11-30",
}
