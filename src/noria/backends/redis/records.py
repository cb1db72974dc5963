"""Reading jobs by id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct

from noria.backends.contract import Channel, Parts
from noria.backends.redis.answers import past_of
from noria.backends.redis.call import Call, Request, Steps
from noria.backends.redis.cards import read_card
from noria.backends.redis.heads import NEVER, Head, unpack
from noria.backends.redis.notes import Note
from noria.backends.redis.notes import unpack as unpack_note
from noria.backends.redis.settings import PORTION, Settings
from noria.backends.redis.ties import group_of, needs_of
from noria.backends.redis.writes import portions
from noria.ids import Id
from noria.model.job import Record, Start
from noria.model.limits import MAX_LISTED
from noria.model.outcome import Failure, Outcome
from noria.model.past import read_past
from noria.model.state import State

_ANY: Final = 1 << 50


class Asked(Struct):
    """When a cancel was asked for, in milliseconds, as far as the last change of a job tells."""

    asked: int | None = None


_WIDTH: Final = 11
_decode_failure = msgspec.json.Decoder(Failure).decode
_decode_asked = msgspec.json.Decoder(Asked).decode
_decode_log = msgspec.json.Decoder(tuple[Start, ...]).decode


class Row(Struct):
    """A job as `records.lua` gives it."""

    id: Id
    head: Head
    worker: str
    why: bytes | None
    card: bytes | None
    body: bytes | None
    result: bytes | None
    log: bytes | None
    change: bytes | None
    linked: bytes | None
    awaits: bytes | None
    packed_note: bytes | None

    @property
    def note(self) -> Note | None:
        """What its starts have written down."""
        return None if self.packed_note is None else unpack_note(self.packed_note)

    @property
    def state(self) -> State:
        """Where it stands: those that ask are stored as running."""
        note = None if self.head.state != State.RUNNING else self.note
        return State.ASKING if note is not None and note.asked_by(self.head) else State(self.head.state)

    @property
    def cancelling_since(self) -> float | None:
        """When its cancellation was asked for, while it runs."""
        asked = None if self.change is None or not self.head.cancelling else _decode_asked(self.change).asked
        return None if asked is None else asked / 1000

    @property
    def failure(self) -> Failure | None:
        """Why it did not succeed; a success tells of no failure before it."""
        if self.why is None or self.head.state == State.SUCCEEDED:
            return None
        return _decode_failure(self.why)


@dataclass(slots=True)
class Get(Call):
    """The call."""

    ids: Sequence[Id]
    parts: Parts

    writes: ClassVar[bool] = False

    def steps(self, settings: Settings) -> Steps:
        """Read records."""
        rows = yield from read(self.ids, self.parts)
        return [None if row is None else record(row, self.parts) for row in rows]


@dataclass(slots=True)
class Watch(Call):
    """The call: read, and before that have the outcomes of those that have not ended told to a channel."""

    ids: Sequence[Id]
    parts: Parts
    channel: Channel

    def steps(self, settings: Settings) -> Steps:
        """Read records, and watch them."""
        watches = [Request("watch", [self.channel, *portion]) for portion in portions(self.ids)]
        if watches:
            yield watches
        rows = yield from read(self.ids, self.parts)
        return [None if row is None else record(row, self.parts) for row in rows]


def read(ids: Sequence[Id], parts: Parts, largest: int = _ANY) -> Steps:
    """Rows of these jobs, each a `Row` or None, a portion at a time so that no answer is too large."""
    wanted = [int(part in parts) for part in (Parts.BODY, Parts.RESULT, Parts.LOG)]
    rows: list[Row | None] = []
    for start in range(0, len(ids), PORTION):
        portion = ids[start : start + PORTION]
        (answer,) = yield [Request("records", [*wanted, largest, *portion])]
        rows += _rows(portion, answer)
    return rows


def read_listed(ids: Sequence[Id], parts: Parts) -> Steps:
    """Records that are there, without values that are too large for a list."""
    rows = yield from read(ids, parts, MAX_LISTED)
    return [record(row, parts) for row in rows if row is not None]


def record(row: Row, parts: Parts) -> Record:
    """A row as a record."""
    head, note = row.head, row.note
    codec, extras = read_card(row.card)
    result_codec, found, result = (row.result or b"json").partition(b"\0")
    return Record(
        id=row.id,
        task=head.task,
        queue=head.queue,
        state=row.state,
        version=head.version + (0 if note is None else note.version),
        dead=bool(head.dead),
        priority=head.priority,
        created=head.created / 1000,
        due=head.due / 1000,
        began=_seconds(head.began),
        finished=_seconds(head.finished),
        expires=_seconds(head.expires),
        deadline=_seconds(head.deadline),
        session=int(head.session or 0),
        worker=row.worker,
        starts=head.starts,
        tally=head.tally,
        unique=head.unique if head.keyed else None,
        keep=_seconds(head.keep),
        cancelling=bool(head.cancelling),
        failure=row.failure,
        extras=extras,
        codec=codec,
        body=row.body,
        result=result if found else None,
        result_codec=result_codec.decode(),
        log=_log(row) if Parts.LOG in parts else (),
        past=read_past(past_of(row.change) or None) if Parts.LOG in parts else (),
        cancelling_since=row.cancelling_since,
        linked=_ids(row.linked or b""),
        group=group_of(head.tie),
        needs=needs_of(head.tie),
        awaits=tuple(sorted(_ids(row.awaits or b""))[:100]),
        progress=None if note is None else note.progress_of(head),
        question="" if note is None else note.asked_by(head),
        items=0 if note is None else note.emitted,
    )


def _rows(ids: Sequence[Id], flat: Sequence[Any]) -> Iterator[Row | None]:
    for index, id in enumerate(ids):
        head, worker, *parts = flat[_WIDTH * index : _WIDTH * (index + 1)]
        yield None if head is None else Row(id, unpack(head), (worker or b"").decode(), *parts)


def _log(row: Row) -> tuple[Start, ...]:
    """The ended starts. The one that succeeded is not stored: the head says all about it."""
    head = row.head
    log = () if row.log is None else _decode_log(row.log)
    if head.state != State.SUCCEEDED:
        return log
    began, ended = _seconds(head.began) or 0, _seconds(head.finished) or 0
    return (*log, Start(head.starts, Outcome.SUCCEEDED, began, ended, row.worker))


def _seconds(stored: float) -> float | None:
    return None if stored == NEVER else stored / 1000


def _ids(joined: bytes) -> tuple[Id, ...]:
    return tuple(Id(joined[at : at + 16]) for at in range(0, len(joined), 16))
