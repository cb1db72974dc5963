"""How starts that succeeded are recorded in SQLite; large results go beside their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from noria.backends.contract import Outline, Verdict
from noria.backends.sql import blobs, settle
from noria.backends.sql.outlines import tells
from noria.backends.sql.prune import prune_within
from noria.backends.sql.rows import ENDED, HELD, Bytes, Fenced, decode, encode, from_bytes
from noria.backends.sql.settings import ERASED_FOR, Settings
from noria.backends.sql.settle import Item
from noria.backends.sql.transaction import ERASED, Transaction
from noria.backends.units import millis
from noria.ids import SessionId
from noria.model.settlement import Settlement
from noria.model.state import State


@dataclass(slots=True)
class Settle(settle.Settle):
    """The call."""

    _drafts: _Drafts = field(init=False)

    def prepare(self, settings: Settings, now: int) -> None:
        """Write down what can be said of the successes before the transaction."""
        super(Settle, self).prepare(settings, now)
        self._drafts = _Drafts(self._done, settings)

    def settle_done(self, work: Transaction, items: Sequence[Item], verdicts: list[Verdict]) -> None:
        _settle_done(work, self.session, self._drafts, items, verdicts)


class _Drafts:
    """Starts that succeeded, written down while other processes may still write.

    Attributes:
        ids: as hex.
        asked: what `settle_look_done.sql` takes.
        rows: what `settle_done.sql` takes if all of them are usual; None if they surely are not.
        values: the results, as `from_bytes` has them, if there are rows.
    """

    def __init__(self, items: Sequence[Item], settings: Settings) -> None:
        ends = [end for _, end in items]
        self.ids = [end.id.hex() for end in ends]
        self.asked = encode([(id, end.starts) for id, end in zip(self.ids, ends, strict=True)])
        self.rows: str | None = None
        self.values: list[Bytes] = []
        large = any(end.result is not None and settings.spills(len(end.result)) for end in ends)
        if not large and len(set(self.ids)) == len(ends):
            self.values = [from_bytes(end.result, end.codec) for end in ends]
            rows = zip(self.ids, self.values, ends, strict=True)
            self.rows = encode([(id, *value, end.codec, None) for id, value, end in rows])


class _Done:
    """What becomes of starts that succeeded, gathered before it is written."""

    def __init__(self, work: Transaction) -> None:
        self._work = work
        self._kept_until = work.now + millis(work.settings.keep_succeeded)
        self._rows: list[tuple[Any, ...]] = []
        self._homes: list[tuple[str, str]] = []
        self._large: list[blobs.Large] = []
        self._keys = blobs.keys(work)
        self._erased: list[tuple[str, Fenced]] = []

    def add(self, id: str, end: Settlement, row: Fenced) -> None:
        """Keep one end, or mark its record for being erased."""
        text, hex = from_bytes(end.result, end.codec)
        outline = None if row.reply is None else Outline(id, int(State.SUCCEEDED), end.codec, text)
        if row.keep != 0:
            self._keep(
                id, end, row, (text, hex), self._kept_until if row.keep is None else self._work.now + row.keep
            )
        elif outline is not None and not tells(outline, end.result):
            # Somebody waits for a value that no hint can carry: it stays until they had time to read it.
            self._keep(id, end, row, (text, hex), self._work.now + _to_be_read(self._work))
        else:
            self._erased.append((id, row))
        if outline is not None:
            self._work.tell(row.reply, outline)

    def _keep(self, id: str, end: Settlement, row: Fenced, result: Bytes, until: int) -> None:
        if end.result is not None and self._work.settings.spills(len(end.result)):
            key = next(self._keys)
            self._large.append((key, end.result, end.codec))
            self._rows.append((id, key, None, end.codec, until))
        else:
            self._rows.append((id, *result, end.codec, until))
        self._homes.append((row.queue, row.task))

    def write(self, session: SessionId) -> int:
        """Write all of it; says how many records were kept."""
        work = self._work
        if self._rows:
            work.run("settle_done", encode(self._rows), session, work.now, self._kept_until)
        blobs.store(work, self._large)
        for (queue, task), n in Counter(self._homes).items():
            work.moved(queue, State.RUNNING, State.SUCCEEDED, n)
            work.happened(queue, task, "succeeded", n)
        if self._erased:
            self._erase(session)
        return len(self._rows)

    def _erase(self, session: SessionId) -> None:
        work, ids = self._work, [id for id, _ in self._erased]
        blobs.drop(work, [id for id, row in self._erased if row.spilled], bodies=True)
        work.run("erase", encode(ids), session, work.now, work.now + _to_be_read(work))
        work.run("erased_drop", work.now, 2 * len(ids))
        for (queue, task), n in Counter([(row.queue, row.task) for _, row in self._erased]).items():
            work.moved(queue, State.RUNNING, ERASED, n)
            work.happened(queue, task, "succeeded", n)


def _to_be_read(work: Transaction) -> int:
    """Milliseconds for which what is erased at success is still known to who asks, or asks again."""
    return millis(ERASED_FOR * work.settings.timeout)


def _leave(work: Transaction, row: Fenced, end: Settlement) -> None:
    """Give up the place and the tokens of a job."""
    work.groups.free(row.gate or "")
    if row.family is not None and row.group_key is not None:
        work.groups.leave(row.family, row.group_key)
    settle.close_group(work, row, end)


def _settle_done(
    work: Transaction, session: SessionId, drafts: _Drafts, items: Sequence[Item], verdicts: list[Verdict]
) -> None:
    """Record successes."""
    alive, kept, stale, bounds, found = work.row("settle_look_done", drafts.asked, session, work.now)
    work.know_bounds(bounds)
    rows = decode(found, list[Fenced])
    if alive and drafts.rows is not None and all(map(_is_usual, rows)):
        _keep_all(work, session, drafts, items, rows)
        for index, _ in items:
            verdicts[index] = Verdict.OK
        kept += len(rows)
    else:
        kept += _keep_each(work, session, drafts, items, rows, verdicts, alive=bool(alive))
    over = kept - work.settings.keep_succeeded_at_most
    prune_within(work, 2 * len(items), over=over, stale=bool(stale))


def _is_usual(row: Fenced) -> bool:
    """Whether nothing is left to decide about a start that succeeded, so that it is recorded as it was written down."""
    return row.fence == HELD and row.keep is None and not row.awaited


def _keep_all(
    work: Transaction, session: SessionId, drafts: _Drafts, items: Sequence[Item], rows: Sequence[Fenced]
) -> None:
    """Record successes that are all usual."""
    work.run("settle_done", drafts.rows, session, work.now, work.now + millis(work.settings.keep_succeeded))
    for (queue, task), n in Counter([(row.queue, row.task) for row in rows]).items():
        work.moved(queue, State.RUNNING, State.SUCCEEDED, n)
        work.happened(queue, task, "succeeded", n)
    for id, (text, _), (_, end), row in zip(drafts.ids, drafts.values, items, rows, strict=True):
        if row.reply is not None:
            work.tell(row.reply, Outline(id, int(State.SUCCEEDED), end.codec, text))
        if row.gate is not None:
            _leave(work, row, end)


def _keep_each(
    work: Transaction,
    session: SessionId,
    drafts: _Drafts,
    items: Sequence[Item],
    rows: Sequence[Fenced],
    verdicts: list[Verdict],
    *,
    alive: bool,
) -> int:
    """Look at each success by itself; says how many records were kept."""
    done, seen = _Done(work), set[str]()
    for id, (index, end), row in zip(drafts.ids, items, rows, strict=True):
        if row.fence == HELD and alive and id not in seen:
            seen.add(id)
            done.add(id, end, row)
            if row.awaited:
                work.ended_parents[id] = State.SUCCEEDED
            if row.gate is not None:
                _leave(work, row, end)
            verdicts[index] = Verdict.OK
        elif row.fence == ENDED or id in seen:
            verdicts[index] = Verdict.ALREADY
    return done.write(session)
