"""Reading jobs by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.contract import Channel, Parts
from noria.backends.sql.call import Call, Sync
from noria.backends.sql.groups import ref_of
from noria.backends.sql.rows import (
    Row,
    decode,
    encode,
    read_extras,
    read_failure,
    tally_of,
    to_bytes,
    to_id,
)
from noria.backends.sql.tokens import names
from noria.backends.sql.transaction import Transaction
from noria.backends.units import seconds_or_none
from noria.ids import Id
from noria.model.job import Record, Start
from noria.model.limits import MAX_LISTED
from noria.model.mark import Progress
from noria.model.outcome import Outcome
from noria.model.past import read_past
from noria.model.state import State

_ANY: Final = 1 << 62


@dataclass(slots=True)
class Get(Call):
    """The call."""

    ids: Sequence[Id]
    parts: Parts

    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Row | None]:
        """Read records."""
        return _read(work, encode([id.hex() for id in self.ids]), self.parts)

    def finish(self, raw: list[Row | None]) -> list[Record | None]:
        """Rows as records."""
        return [None if row is None else _record(row, self.parts) for row in raw]


@dataclass(slots=True)
class Watch(Get):
    """The call: read, and in the same step have the outcomes of those that have not ended told to a channel."""

    channel: Channel

    writes: ClassVar[bool] = True
    sync: ClassVar[Sync] = Sync.NEVER

    def run(self, work: Transaction) -> list[Row | None]:
        """Read records, and watch them."""
        ids = encode([id.hex() for id in self.ids])
        work.run("watch", ids, self.channel)
        return _read(work, ids, self.parts)


def read_records(work: Transaction, ids: Sequence[Id], parts: Parts) -> list[Record]:
    """Records that are there, without values that are too large for a list."""
    rows = _read(work, encode([id.hex() for id in ids]), parts, MAX_LISTED)
    return [_record(row, parts) for row in rows if row is not None]


def _read(work: Transaction, ids: str, parts: Parts, largest: int = _ANY) -> list[Row | None]:
    """Rows of these ids, given as JSON of hex."""
    wanted = (Parts.BODY in parts, Parts.RESULT in parts, Parts.LOG in parts)
    return decode(work.row("records", ids, *wanted, largest)[0], list[Row | None])


def _record(row: Row, parts: Parts) -> Record:
    return Record(
        id=to_id(row.id),
        task=row.task,
        queue=row.queue,
        state=State.ASKING if row.question else State(row.state),
        version=row.version + row.marked,
        dead=bool(row.dead),
        priority=row.priority,
        created=row.created / 1000,
        due=row.due / 1000,
        began=seconds_or_none(row.began),
        finished=seconds_or_none(row.finished),
        expires=seconds_or_none(row.expires),
        deadline=seconds_or_none(row.deadline),
        session=row.session,
        worker=row.worker,
        starts=row.starts,
        tally=tally_of(row),
        unique=row.unique_key,
        keep=seconds_or_none(row.keep),
        cancelling=bool(row.cancelling),
        failure=read_failure(row.failure),
        extras=read_extras(row.extras),
        codec=row.codec,
        body=to_bytes(row.body_text, row.body_hex),
        result=to_bytes(row.result_text, row.result_hex),
        result_codec=row.result_codec or "json",
        log=_log(row) if Parts.LOG in parts else (),
        past=read_past(row.past),
        cancelling_since=seconds_or_none(row.asked),
        group=ref_of(row.family, row.group_key),
        needs=tuple(names(row.gate or "")),
        linked=_ids(row.linked),
        awaits=_ids(row.awaits),
        progress=None if row.progress is None else _progress(row.progress, row),
        question=row.question or "",
        items=row.emitted,
    )


def _progress(fraction: float, row: Row) -> Progress:
    return Progress(fraction, row.note or "", (row.noted or 0) / 1000)


def _log(row: Row) -> tuple[Start, ...]:
    """The ended starts. The one that succeeded is not stored: the row says all about it."""
    log = () if row.log is None else decode(row.log, tuple[Start, ...])
    if row.state != State.SUCCEEDED:
        return log
    began, ended = (row.began or 0) / 1000, (row.finished or 0) / 1000
    return (*log, Start(row.starts, Outcome.SUCCEEDED, began, ended, row.worker))


def _ids(text: str | None) -> tuple[Id, ...]:
    return () if text is None else tuple(map(to_id, decode(text, list[str])))
