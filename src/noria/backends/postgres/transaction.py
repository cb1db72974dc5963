"""A transaction on a PostgreSQL connection: statements whose answers nobody needs go out with the next that has one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from psycopg import pq

from noria.backends.postgres.faults import Broken, Unbegun
from noria.backends.postgres.inserting import insert
from noria.backends.postgres.marks import Marks
from noria.backends.postgres.moment import ServerTime
from noria.backends.postgres.patterns import Patterns
from noria.backends.postgres.settings import Settings
from noria.backends.postgres.statements import statement
from noria.backends.postgres.wire import Step, Wire
from noria.backends.sql import transaction
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.rows import decode, encode
from noria.backends.sql.transaction import MINUTE
from noria.errors import InvalidInput

_BEFORE: Final = {
    "alter_discard": "unplace",
    "alter_erase": "unplace",
    "alter_move": "unplace",
    "alter_retry": "unplace",
    "alter_wait": "unplace",
    "await_write": "unplace",
    "board_versions": "board_claim",
    "claim_change": "unplace",
    "drop_jobs": "unplace",
    "finish": "unplace",
    "groups_leave": "unplace",
    "groups_look": "groups_lock",
    "session_end": "session_lock",
}
_AFTER: Final = {
    "alter_discard": "place",
    "alter_erase": "place",
    "alter_move": "place",
    "alter_retry": "place",
    "alter_wait": "place",
    "claim_change": "place",
    "await_write": "place",
    "finish": "place",
    "groups_leave": "place",
    "push_traces": "place",
    "settle": "place",
}
"""What goes before a statement, and what follows it, each with the first of its values."""

_READERS: Final[dict[int, Callable[[bytes], Any]]] = {
    16: lambda value: value == b"t",
    20: int,
    21: int,
    23: int,
    # JSON is read by whoever knows what is in it.
    114: lambda value: value,
    3802: lambda value: value,
}


class Transaction(transaction.Transaction):
    """See `noria.backends.sql.transaction.Transaction`.

    Args:
        marks: what its connection knows of the lines that are leased from.
        opening: what goes out together with the first statement, if it has not begun yet.
        time: `now` is a guess of it, to be checked with what is last in `opening`.
    """

    patterns = Patterns()
    looks_first = False

    def __init__(
        self,
        wire: Wire,
        settings: Settings,
        now: int,
        marks: Marks,
        opening: Sequence[Step] = (),
        time: ServerTime | None = None,
    ) -> None:
        super().__init__(settings, now)
        self.marks = marks
        self.namespace = settings.namespace
        self._wire = wire
        self._opening = len(opening)
        self._time = time
        self._waiting: list[Step] = list(opening)
        self._expected: list[tuple[int, list[pq.abc.PGresult]]] = []

    def row_or_none(self, name: str, *values: Any) -> list[Any] | None:
        found = self._ask(name, values)
        return None if found.ntuples == 0 else _row(found)

    def run(self, name: str, *values: Any) -> None:
        for each, given in whole(name, values):
            self._waiting.append(self._step(each, given))

    def later(self, name: str, *values: Any) -> Callable[[], Sequence[Any]]:
        """As `row` of a statement that goes out with the next; its row can be read once that was answered."""
        answer: list[pq.abc.PGresult] = []
        self._expected.append((len(self._waiting), answer))
        self.run(name, *values)
        return lambda: _row(answer[0])

    def changes(self, name: str, *values: Any) -> int:
        return self._ask(name, values).command_tuples or 0

    def insert(self, drafts: Drafts) -> None:
        insert(self, drafts)

    def hold_lengths(self, queues: Collection[str]) -> None:
        self.row("hold_lengths", encode([f"{self.namespace} length {queue}" for queue in queues]))

    def hold_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        self.run("claim_lock", encode(keys))

    def hold_limits(self) -> None:
        self.row("hold_lengths", encode([f"{self.namespace} limits"]))
        self.forget_bounds()

    def hold_places(self, queues: Collection[str]) -> set[str]:
        """Be the only one who leases from these queues until this has ended; says from which others just do."""
        asked = [(queue, f"{self.namespace} places {queue}") for queue in queues]
        return decode(self.row("hold_places", encode(asked))[0], set[str])

    def _write_counts(self) -> None:
        if len(self._flow) == 1 and (changed := self._changed()):
            ((key, n),) = self._flow.items()
            self.run("add_both", encode(changed), *key, n, self.now // MINUTE)
        else:
            super()._write_counts()

    def flush(self) -> list[pq.abc.PGresult]:
        """Send what waits, and read the answers."""
        steps, self._waiting = self._waiting, []
        if not steps:
            return []
        answers = self._open(steps) if self._opening else self._wire.exchange(steps)
        for place, answer in self._expected:
            answer.append(answers[place])
        self._expected.clear()
        return answers

    def end(self, hints: str, *, lasting: bool) -> None:
        """Have the commit, and then the hints, go out with the next `flush`.

        Args:
            hints: as `notify.sql` takes them.
            lasting: it must outlast a crash of the server; so must whatever `happened`, of which others may hear.
        """
        if self._opening:
            # Until it has begun nobody knows whether its time is right.
            self.flush()
        if not (lasting or self._flow):
            self.run("hasten")
        self.run("commit")
        if hints:
            self.run("notify", hints)

    def _open(self, steps: Sequence[Step]) -> list[pq.abc.PGresult]:
        opening, self._opening = self._opening, 0
        try:
            answers = self._wire.exchange(steps)
        except Broken as error:
            raise Unbegun(str(error)) from error
        if self._time is not None:
            self._time.check(self.now, answers[opening - 1])
        return answers

    def _ask(self, name: str, values: tuple[Any, ...]) -> pq.abc.PGresult:
        assert name not in _AFTER, "its answer would not be the last one"
        self.run(name, *values)
        return self.flush()[-1]

    def _step(self, name: str, values: Sequence[Any]) -> Step:
        return Step(name, statement(name, self.namespace), [_crossing(value) for value in values])


def whole(name: str, values: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """A statement with those that go before it and follow it, each with its values."""
    for each in (_BEFORE.get(name), name, _AFTER.get(name)):
        if each is not None:
            yield each, values if each is name else values[:1]


def _crossing(value: Any) -> bytes | None:
    """A value as it is sent."""
    if value is None:
        return None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, bytes):
        # Where a search begins: an id, or what is before or behind all of them.
        return value[:16].ljust(16, b"\0").hex().encode()
    return b"%d" % value


def _text(value: str) -> bytes:
    try:
        text = value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a text cannot be stored: {error.reason}") from error
    if b"\0" in text:
        # It would end the value there.
        raise InvalidInput("a text with a NUL in it cannot be stored")
    return text


def _row(found: pq.abc.PGresult) -> list[Any]:
    return [_value(found, place) for place in range(found.nfields)]


def _value(found: pq.abc.PGresult, place: int) -> Any:
    raw = found.get_value(0, place)
    if raw is None:
        return None
    read = _READERS.get(found.ftype(place))
    return raw.decode() if read is None else read(raw)
