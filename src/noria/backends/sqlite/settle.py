"""How starts that succeeded are recorded in SQLite; large results go beside their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noria.backends.contract import Outline, Verdict
from noria.backends.sql import blobs, settle
from noria.backends.sql.outlines import tells
from noria.backends.sql.prune import prune_within
from noria.backends.sql.rows import ENDED, HELD, Bytes, Fenced, decode, encode, from_bytes
from noria.backends.sql.settings import ERASED_FOR
from noria.backends.sql.settle import Item
from noria.backends.sql.transaction import ERASED, Transaction
from noria.backends.units import millis
from noria.ids import SessionId
from noria.model.settlement import Settlement
from noria.model.state import State


@dataclass(slots=True)
class Settle(settle.Settle):
    """The call."""

    def settle_done(self, work: Transaction, items: Sequence[Item], verdicts: list[Verdict]) -> None:
        _settle_done(work, self.session, items, verdicts)


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
            work.run("settle_done", encode(self._rows), session, work.now)
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


def _settle_done(
    work: Transaction, session: SessionId, items: Sequence[Item], verdicts: list[Verdict]
) -> None:
    """Record successes."""
    asked = [(end.id.hex(), end.starts) for _, end in items]
    alive, kept, stale, bounds, found = work.row("settle_look_done", encode(asked), session, work.now)
    work.know_bounds(bounds)
    done, seen = _Done(work), set[str]()
    for (id, _), (index, end), row in zip(asked, items, decode(found, list[Fenced]), strict=True):
        if row.fence == HELD and alive and id not in seen:
            seen.add(id)
            done.add(id, end, row)
            verdicts[index] = Verdict.OK
        elif row.fence == ENDED or id in seen:
            verdicts[index] = Verdict.ALREADY
    over = kept + done.write(session) - work.settings.keep_succeeded_at_most
    prune_within(work, 2 * len(items), over=over, stale=bool(stale))
