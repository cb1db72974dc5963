"""Which jobs match a query: what its fields and terms say, in words of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from noria.backends.contract import Parts, Query, Term
from noria.backends.redis.cards import read_card
from noria.backends.redis.heads import NEVER
from noria.backends.redis.records import Row
from noria.backends.redis.ties import group_of
from noria.backends.units import millis
from noria.model.fingerprint import fingerprint
from noria.model.job import Extras

Test = Callable[[Row], bool]

_TABLE: Final = {byte: byte + 32 for byte in range(ord("A"), ord("Z") + 1)}
"""Capitals to small letters, of ASCII alone: what "whatever its case" means."""

_MISSING: Final = object()


def parts_of(query: Query) -> Parts:
    """The parts of rows that have to be read to tell whether they match."""
    looks_inside = any(term.field in ("args", "text") for term in query.terms)
    return Parts.BODY if looks_inside else Parts.NONE


def test_of(query: Query) -> Test:
    """What all of the query says."""
    tests = [*_fields(query), *map(_term, query.terms)]
    return lambda row: all(test(row) for test in tests)


def _fields(query: Query) -> list[Test]:
    tests: list[Test] = []
    if query.states:
        states = frozenset(map(int, query.states))
        tests.append(lambda row: row.state in states)
    for names, field in ((query.tasks, _task), (query.queues, _queue), (query.workers, _worker)):
        if names:
            tests.append(_any_of(names, field))
    if query.tag:
        tests.append(lambda row: query.tag in _extras(row).tags)
    if query.correlation_id:
        tests.append(lambda row: row.head.correlation == query.correlation_id)
    if query.fingerprint:
        tests.append(lambda row: _fingerprint(row) == query.fingerprint)
    if query.dead:
        tests.append(lambda row: row.head.dead == 1)
    return tests + _times(query)


def _times(query: Query) -> list[Test]:
    tests: list[Test] = []
    if query.created_after is not None:
        created_after = millis(query.created_after)
        tests.append(lambda row: row.head.created >= created_after)
    if query.created_before is not None:
        created_before = millis(query.created_before)
        tests.append(lambda row: row.head.created < created_before)
    if query.finished_after is not None:
        finished_after = millis(query.finished_after)
        tests.append(lambda row: finished_after <= row.head.finished < NEVER)
    if query.finished_before is not None:
        finished_before = millis(query.finished_before)
        tests.append(lambda row: row.head.finished < finished_before)
    return tests


def _any_of(names: Sequence[str], field: Callable[[Row], str | None]) -> Test:
    """A star at the end of a name stands for any end."""
    exact = frozenset(name for name in names if not name.endswith("*"))
    begins = tuple(name[:-1] for name in names if name.endswith("*"))

    def test(row: Row) -> bool:
        value = field(row)
        return value is not None and (value in exact or value.startswith(begins))

    return test


def _term(term: Term) -> Test:
    test = _inside(term) if term.field in ("error", "text") else _equal(term)
    return (lambda row: not test(row)) if term.negated else test


def _equal(term: Term) -> Test:
    def fits(value: str | None) -> bool:
        if value is None:
            return False
        return value.startswith(term.value) if term.prefix else value == term.value

    if term.field == "tag":
        return lambda row: any(map(fits, _extras(row).tags))
    if term.field == "args":
        path = term.path.split(".")
        return lambda row: fits(_argument(row, path))
    field = _FIELDS[term.field]
    return lambda row: fits(field(row))


def _inside(term: Term) -> Test:
    wanted = term.value.translate(_TABLE)
    texts = _error if term.field == "error" else _text
    return lambda row: wanted in texts(row).translate(_TABLE)


# ---- what is looked at


def _task(row: Row) -> str:
    return row.head.task


def _queue(row: Row) -> str:
    return row.head.queue


def _worker(row: Row) -> str | None:
    return row.worker if row.head.session else None


def _correlation(row: Row) -> str | None:
    return row.head.correlation or None


def _fingerprint(row: Row) -> str | None:
    failure = row.failure
    return None if failure is None else fingerprint(row.head.task, failure)


def _group(row: Row) -> str | None:
    group = group_of(row.head.tie)
    return None if group is None else f"{group.family}={group.key}"


_FIELDS: Final[dict[str, Callable[[Row], str | None]]] = {
    "task": _task,
    "queue": _queue,
    "worker": _worker,
    "correlation_id": _correlation,
    "fingerprint": _fingerprint,
    "group": _group,
}


def _extras(row: Row) -> Extras:
    return read_card(row.card)[1]


def _error(row: Row) -> str:
    failure = row.failure
    return "" if failure is None else " ".join(filter(None, (failure.type, failure.message)))


def _text(row: Row) -> str:
    extras = _extras(row)
    body = _body(row) or ""
    tags = msgspec.json.encode(extras.tags).decode() if extras.tags else ""
    return " ".join((row.head.task, row.head.queue, _error(row), row.head.correlation, tags, body))


def _body(row: Row) -> str | None:
    """The arguments as text; those of another codec are none."""
    if row.body is None or read_card(row.card)[0] != "json":
        return None
    try:
        return row.body.decode()
    except UnicodeDecodeError:
        return None


def _argument(row: Row, path: Sequence[str]) -> str | None:
    body = _body(row)
    try:
        value = _MISSING if body is None else msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    for step in path:
        value = _step(value, step)
    return None if value is _MISSING else _written(value)


def _step(value: Any, step: str) -> Any:
    if step.isdecimal() and step.isascii():
        place = int(step)
        return value[place] if isinstance(value, list) and place < len(value) else _MISSING
    return value.get(step, _MISSING) if isinstance(value, dict) else _MISSING


def _written(value: Any) -> str:
    """A value of JSON as a person writes it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
