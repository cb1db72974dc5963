"""Reading jobs: by id, and by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from noria.backends.contract import Channel, Page, Parts, Query
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.rows import (
    Row,
    decode,
    encode,
    read_extras,
    read_failure,
    tally_of,
    to_bytes,
    to_id,
)
from noria.backends.sqlite.transaction import Transaction
from noria.backends.sqlite.units import millis_or_none, seconds_or_none
from noria.ids import Id
from noria.model.job import Record, Start
from noria.model.outcome import Outcome
from noria.model.state import State

_AFTER_ALL = b"\xff" * 17
_WINDOWS = (1_000, 4_000, 15_000)
"""Rows that a page looks at before it gives up, in portions: most pages are full after the first."""


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
    durable: ClassVar[bool] = False

    def run(self, work: Transaction) -> list[Row | None]:
        """Read records, and watch them."""
        ids = encode([id.hex() for id in self.ids])
        work.run("watch", ids, self.channel)
        return _read(work, ids, self.parts)


@dataclass(slots=True)
class Find(Call):
    """The call."""

    query: Query
    after: Id | None
    limit: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> Page:
        """Read a page, looking at a bounded number of rows."""
        before = _AFTER_ALL if self.after is None else bytes(self.after)
        found: list[str] = []
        for window in _WINDOWS:
            ids, looked, last = self._look(work, before, window, self.limit + 1 - len(found))
            found += ids
            if len(found) > self.limit:
                return self._page(work, found[: self.limit], to_id(found[self.limit - 1]))
            if looked < window:
                return self._page(work, found, None)
            before = bytes.fromhex(last)
        return self._page(work, found, Id(before), scan_limited=True)

    def _look(self, work: Transaction, before: bytes, window: int, wanted: int) -> tuple[list[str], int, str]:
        query = self.query
        ids, looked, last = work.row(
            "find_dead" if query.dead else "find",
            before,
            window,
            wanted,
            encode(query.states),
            encode(query.tasks),
            encode(query.queues),
            query.tag,
            query.correlation_id,
            millis_or_none(query.created_after),
            millis_or_none(query.created_before),
        )
        return decode(ids, list[str]), looked, last

    def _page(
        self, work: Transaction, ids: list[str], next: Id | None, *, scan_limited: bool = False
    ) -> Page:
        rows = _read(work, encode(ids), Parts.NONE)
        records = [_record(row, Parts.NONE) for row in rows if row is not None]
        return Page(records, next, scan_limited)


def _read(work: Transaction, ids: str, parts: Parts) -> list[Row | None]:
    """Rows of these ids, given as JSON of hex."""
    wanted = (Parts.BODY in parts, Parts.RESULT in parts, Parts.LOG in parts)
    return decode(work.row("records", ids, *wanted)[0], list[Row | None])


def _record(row: Row, parts: Parts) -> Record:
    return Record(
        id=to_id(row.id),
        task=row.task,
        queue=row.queue,
        state=State(row.state),
        version=row.version,
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
    )


def _log(row: Row) -> tuple[Start, ...]:
    """The ended starts. The one that succeeded is not stored: the row says all about it."""
    log = () if row.log is None else decode(row.log, tuple[Start, ...])
    if row.state != State.SUCCEEDED:
        return log
    began, ended = (row.began or 0) / 1000, (row.finished or 0) / 1000
    return (*log, Start(row.starts, Outcome.SUCCEEDED, began, ended, row.worker))
