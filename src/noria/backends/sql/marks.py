"""Writes in mid-run: fenced as settles are, gathered for each start, and read by whoever follows a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from msgspec import UNSET, Struct, structs

from noria.backends.contract import Mark, Outline, Stream, Verdict
from noria.backends.sql import board
from noria.backends.sql.call import Call
from noria.backends.sql.rows import ENDED, HELD, Running, decode, encode
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis
from noria.ids import Id, SessionId
from noria.model.limits import MAX_BATCH, MAX_EMITTED
from noria.model.mark import Item
from noria.model.state import State

_LOOK_AGAIN: Final = 3600.0
"""Seconds after which it is seen whether the record of a job is still there, whose marks go with it."""


class _Marked(Struct, array_like=True):
    """A row of `marks_read.sql`, and what `mark.sql` writes of it."""

    id: str
    session: int
    starts: int
    progress: float | None = None
    note: str | None = None
    noted: int | None = None
    asks: str | None = None
    emitted: int = 0
    said: int = 0


class _Written(_Marked, array_like=True):
    """A row as `mark.sql` writes it; no checkpoint leaves the one that there is."""

    checkpoint: str | None = None


_Line = tuple[str, int, int, str]
"""An item as it is written: id of the job as hex, offset, starts, data as hex."""


@dataclass(slots=True)
class WriteMarks(Call):
    """The call."""

    session: SessionId
    marks: Sequence[Mark]

    def run(self, work: Transaction) -> list[Verdict]:
        """Write marks, as `Queue.mark` promises."""
        asked = encode([(mark.id.hex(), mark.starts) for mark in self.marks])
        alive, *_, found = work.row("settle_look", asked, self.session)
        verdicts: list[Verdict] = []
        fit: list[tuple[Mark, Running]] = []
        for mark, row in zip(self.marks, decode(found, list[Running]), strict=True):
            if row.fence == HELD and alive:
                fit.append((mark, row))
                verdicts.append(Verdict.OK)
            else:
                verdicts.append(Verdict.ALREADY if row.fence == ENDED else Verdict.STALE)
        if fit:
            _write(work, self.session, [mark for mark, _ in fit])
            board.put_anyway(work, [doc for mark, _ in fit for doc in mark.docs])
        for _, row in fit:
            # Whoever waits for the job looks again.
            work.tell(row.reply, Outline(row.id.lower(), int(State.RUNNING)))
        return verdicts


def _write(work: Transaction, session: SessionId, marks: Sequence[Mark]) -> None:
    ids = list(dict.fromkeys(mark.id.hex() for mark in marks))
    read = decode(work.row("marks_read", encode(ids))[0], list[_Marked | None])
    before = {id: row for id, row in zip(ids, read, strict=True) if row is not None}
    after: dict[str, _Written] = {}
    lines: list[_Line] = []
    for mark in marks:
        id = mark.id.hex()
        row = after.get(id) or _begun(before.get(id), id, session, mark.starts)
        after[id] = row
        _apply(row, mark, work.now)
        lines += _fresh(row, mark)
    work.run("mark", encode(list(after.values())), work.now + millis(_LOOK_AGAIN))
    if lines:
        work.run("items_write", encode(lines), work.now)
        work.run("items_trim", encode([(row.id, row.emitted - MAX_EMITTED) for row in after.values()]))


def _begun(row: _Marked | None, id: str, session: SessionId, starts: int) -> _Written:
    """The row as this start finds it: what another start has said of itself is forgotten."""
    if row is None:
        return _Written(id, session, starts)
    if (row.session, row.starts) == (session, starts):
        return _Written(**{**structs.asdict(row), "id": id})
    return _Written(id, session, starts, emitted=row.emitted)


def _apply(row: _Written, mark: Mark, now: int) -> None:
    if mark.progress is not None:
        row.progress, row.note, row.noted = mark.progress.fraction, mark.progress.note, now
    if mark.checkpoint is not None:
        row.checkpoint = mark.checkpoint.hex()
    if mark.asks is not UNSET:
        row.asks = mark.asks


def _fresh(row: _Written, mark: Mark) -> list[_Line]:
    """The items that were not written before, with their offsets; they are counted as written."""
    fresh = mark.items[max(0, row.said - mark.first) :]
    first = row.emitted
    row.said += len(fresh)
    row.emitted += len(fresh)
    kept = list(enumerate(fresh, first))[-MAX_EMITTED:]
    return [(row.id, offset, row.starts, data.hex()) for offset, data in kept]


@dataclass(slots=True)
class Emitted(Call):
    """The call."""

    id: Id
    start: int
    limit: int
    writes: ClassVar[bool] = False

    def run(self, work: Transaction) -> Stream | None:
        """Read partial results of a job."""
        row = work.row_or_none("items", self.id, max(0, self.start), max(1, min(self.limit, MAX_BATCH)))
        if row is None:
            return None
        found = decode(row[1], list[tuple[int, int, int, str]])
        return Stream(
            [Item(n, at / 1000, starts, bytes.fromhex(data)) for n, at, starts, data in found], row[0]
        )


def drop(work: Transaction, ids: Sequence[str]) -> None:
    """Drop the marks of jobs, given as hex."""
    work.run("items_drop", encode(ids))
    work.run("marks_drop", encode(ids))


def drop_stray(work: Transaction, limit: int) -> None:
    """Drop the marks of jobs whose records are gone; those of the others are looked at again later."""
    found = decode(work.row("marks_old", work.now, limit)[0], list[tuple[str, int, int | None]])
    if gone := [id for id, there, _ in found if not there]:
        drop(work, gone)
    later = work.now + millis(_LOOK_AGAIN)
    if kept := [(id, max(later, prune_at or 0)) for id, there, prune_at in found if there]:
        work.run("marks_keep", encode(kept))


def asking(work: Transaction) -> dict[str, int]:
    """How many jobs of each queue ask; they are stored, and counted, as running."""
    return dict(decode(work.row("asking")[0], list[tuple[str, int]]))
