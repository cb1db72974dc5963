"""Which jobs a list shows, or an operation changes: parameters and query words, read into the backend's terms.

The language is that of the search box: `state:failed task:shop.* tag:vip args.phone:138* created:>2h -worker:w7 "free
text"`. A minus in front negates, and a star behind a value takes all that begin so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from noria.backends.contract import Query, Term
from noria.errors import InvalidInput
from noria.front import limits
from noria.front.principal import Principal
from noria.ids import from_text
from noria.model.spans import read_seconds
from noria.model.state import State

LISTS: Final = {"task": "tasks", "queue": "queues", "worker": "workers"}
"""Words that take alternatives, separated by commas, and their fields."""
EXACT: Final = ("tag", "correlation_id", "fingerprint")
NAMES: Final = ("state", *LISTS, *EXACT, "parent_id", "error")
TIMES: Final = ("created", "finished")
PARAMETERS: Final = (
    "state", "task", "queue", "worker", "tag", "correlation_id", "fingerprint", "parent_id", "dead",
    "created_after", "created_before", "finished_after", "finished_before", "q",
)  # fmt: skip
"""What a list of jobs is filtered by."""
_ALIASES: Final = {"correlation": "correlation_id", "parent": "parent_id"}
_TOKEN: Final = re.compile(r'\s*(-?)(?:([a-z_]+(?:\.[^\s:"]*)?):)?("(?:[^"\\]|\\.)*"|[^\s"]+)', re.ASCII)
_BARE: Final = re.compile(r"[a-z_]+(?:\.[^\s:\"]*)?:", re.ASCII)
"""A word with nothing behind its colon."""
_STATES: Final = {state.word: state for state in State}


class Word(NamedTuple):
    """One word of a query. `quoted`: it means what it says, commas and stars included."""

    name: str
    value: str
    negated: bool = False
    quoted: bool = False


def read_query(given: Mapping[str, str], now: float) -> Query:
    """A query from parameters of `PARAMETERS`, each as text. Ages are counted from `now`, and fixed by that.

    Raises:
        InvalidInput: one is unknown or malformed; `field` names it.
    """
    query = Query()
    for name, text in given.items():
        if name not in PARAMETERS:
            raise InvalidInput(f"{name!r:.40} is no filter; these are: {', '.join(PARAMETERS)}", field=name)
        if name == "q":
            for word in _words(text):
                query = _with(query, word, now)
        elif name.endswith(("_after", "_before")):
            query = _bounded(query, name, _moment(text, name))
        else:
            query = _with(query, Word(name, text), now)
    return query


def _words(text: str) -> Iterator[Word]:
    if len(text) > limits.QUERY:
        raise InvalidInput(f"q is longer than {limits.QUERY:,} characters", field="q")
    text, place = text.rstrip(), 0
    for found in _TOKEN.finditer(text):
        if found.start() != place:
            break
        place = found.end()
        minus, name, value = found.groups()
        quoted = value.startswith('"')
        if name is None and _BARE.fullmatch(value):
            raise InvalidInput(f"{value} needs a value", field=_ALIASES.get(value[:-1], value[:-1]))
        if name is None:
            name = "dead" if value == "dead" else "text"
            value = "true" if name == "dead" else value
        plain = re.sub(r"\\(.)", r"\1", value[1:-1]) if quoted else value
        yield Word(_ALIASES.get(name, name), plain, bool(minus), quoted)
    if place != len(text):
        raise InvalidInput(f"q cannot be read from here on: {text[place : place + 30]!r}", field="q")


def _with(query: Query, word: Word, now: float) -> Query:
    """The query with one more condition."""
    name = word.name
    if not word.value:
        raise InvalidInput(f"{name}: needs a value", field=name)
    if name in LISTS and not word.quoted and not all(word.value.split(",")):
        raise InvalidInput(f"{name}:{word.value} has no name before or behind a comma", field=name)
    if name in TIMES:
        return _with_time(query, word, now)
    if name in _READERS:
        return _READERS[name](query, word)
    if name in LISTS and not word.negated:
        return _with_names(query, LISTS[name], tuple(word.value.split(",")))
    if name in EXACT and not (word.negated or getattr(query, name) or _star(word)):
        return replace(query, **{name: word.value})
    if name.startswith("args.") or name in (*LISTS, *EXACT, "group", "error", "text"):
        return replace(query, terms=query.terms + tuple(_terms(word)))
    raise InvalidInput(
        f"{name!r:.40} is no query word; these are: {', '.join((*NAMES, *TIMES))}, group, dead, args.PATH",
        field="q",
    )


def _star(word: Word) -> bool:
    return word.value.endswith("*") and not word.quoted


def _terms(word: Word) -> Iterator[Term]:
    field, _, path = word.name.partition(".")
    several = word.negated and word.name in LISTS and not word.quoted
    for value in word.value.split(",") if several else (word.value,):
        prefix = value.endswith("*") and not word.quoted and field not in ("text", "error")
        yield Term(field, value[:-1] if prefix else value, path, prefix, word.negated)  # type: ignore[arg-type]  # one of these words


def _with_states(query: Query, word: Word) -> Query:
    for value in word.value.split(","):
        if value not in _STATES:
            raise InvalidInput(f"{value!r:.40} is no state; these are: {', '.join(_STATES)}", field="state")
    named = {_STATES[value] for value in word.value.split(",")}
    wanted = tuple(state for state in (query.states or State) if (state in named) is not word.negated)
    if not wanted:
        raise InvalidInput("no job can be in none of the states", field="state")
    return replace(query, states=wanted)


def _with_dead(query: Query, word: Word) -> Query:
    if word.value != "true" or word.negated:
        raise InvalidInput("dead is true, or left out", field="dead")
    return replace(query, dead=True)


def _with_parent(query: Query, word: Word) -> Query:
    if word.negated or query.parent_id:
        raise InvalidInput("parent_id is the id of one job, without a minus", field="parent_id")
    try:
        return replace(query, parent_id=from_text(word.value).hex())
    except InvalidInput as error:
        raise InvalidInput(f"parent_id: {error}", field="parent_id") from None


_READERS: Final[dict[str, Callable[[Query, Word], Query]]] = {
    "state": _with_states,
    "dead": _with_dead,
    "parent_id": _with_parent,
}


def _with_names(query: Query, field: str, patterns: tuple[str, ...]) -> Query:
    before = getattr(query, field)
    both = meet(before, patterns) if before else patterns
    if not both:
        raise InvalidInput(f"no job can match both: {', '.join(before)} and {', '.join(patterns)}", field="q")
    return replace(query, **{field: both})


def meet(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns for what both of these allow; a star at an end stands for any end."""
    return tuple(
        dict.fromkeys(found for one in some for other in others if (found := _meet(one, other)) is not None)
    )


def _meet(one: str, other: str) -> str | None:
    shorter, longer = sorted((one, other), key=lambda each: (not each.endswith("*"), len(each)))
    if not shorter.endswith("*"):
        return one if one == other else None
    return longer if longer.startswith(shorter[:-1]) else None


def narrowed(query: Query, who: Principal) -> Query | None:
    """The query, for a key that sees only some queues and tasks; None if it can see nothing of this."""
    for field, patterns in (("queues", who.queues), ("tasks", who.tasks)):
        if patterns:
            before: tuple[str, ...] = getattr(query, field)
            both = meet(before, patterns) if before else patterns
            if not both:
                return None
            query = replace(query, **{field: both})
    return query


# ---- times


def _with_time(query: Query, word: Word, now: float) -> Query:
    name, sign, rest = word.name, word.value[:1], word.value[1:]
    if sign not in ("<", ">"):
        raise InvalidInput(f"{name}: needs < or >, such as {name}:<2h or {name}:>2026-11-30", field="q")
    point = read_point(rest)
    older = (sign == ">") if point is None else (sign == "<")
    at = now - read_seconds(rest) if point is None else point
    return _bounded(query, f"{name}_{'before' if older is not word.negated else 'after'}", at)


def _bounded(query: Query, field: str, at: float) -> Query:
    before: Any = getattr(query, field)
    tighter = max if field.endswith("_after") else min
    return replace(query, **{field: at if before is None else tighter(at, before)})


def _moment(text: str, name: str) -> float:
    found = read_point(text)
    if found is None:
        raise InvalidInput(f"{name} is a time such as 2026-11-30T08:00:00Z", field=name)
    return found


def read_point(text: str) -> float | None:
    """A point in time; None if the text does not look like a date."""
    if not re.match(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return None
    try:
        found = datetime.fromisoformat(text)
        point = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{text!r:.40} is no date or time; write 2026-11-30 or 2026-11-30T08:00Z", field="q"
        ) from None
    if found.tzinfo is None and len(text) > len("2026-11-30"):
        raise InvalidInput(f"{text!r:.40} has no zone; write {text:.30}Z for UTC", field="q")
    return point
