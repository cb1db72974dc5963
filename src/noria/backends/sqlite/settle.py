"""Settling: check the fences, decide, write, in as many statements for a thousand ends as for one.

Starts that succeeded take a short way of their own: they are the most, and nothing about them has to be decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from noria.backends.contract import Outline, Verdict
from noria.backends.sqlite import blobs
from noria.backends.sqlite.call import Call
from noria.backends.sqlite.prune import prune_within
from noria.backends.sqlite.rows import ENDED, HELD, Bytes, Fenced, Running, decode, encode, from_bytes
from noria.backends.sqlite.settings import ERASED_FOR, SPILL, Settings
from noria.backends.sqlite.transaction import DEAD, ERASED, Transaction
from noria.backends.sqlite.units import millis
from noria.backends.sqlite.verdicts import respecting_cancel, row_after, storable
from noria.ids import SessionId
from noria.model.limits import MAX_LOG
from noria.model.outcome import End, Settlement
from noria.model.state import State

Item = tuple[int, Settlement]
"""An end, and its place in the call."""


@dataclass(slots=True)
class Settle(Call):
    """The call."""

    session: SessionId
    ends: Sequence[Settlement]
    _done: list[Item] = field(default_factory=list)
    _rest: list[Item] = field(default_factory=list)

    def prepare(self, settings: Settings, now: int) -> None:
        """Tell the successes from the others; each keeps its place in the call."""
        self._done, self._rest = [], []
        for index, end in enumerate(self.ends):
            fit = storable(end, settings)
            (self._done if fit.state is State.SUCCEEDED else self._rest).append((index, fit))

    def run(self, work: Transaction) -> list[Verdict]:
        """End starts, as `Queue.settle` promises."""
        verdicts = [Verdict.STALE] * len(self.ends)
        if self._done:
            _settle_done(work, self.session, self._done, verdicts)
        if self._rest:
            _settle_rest(work, self.session, self._rest, verdicts)
        return verdicts


class _Done:
    """What becomes of starts that succeeded, gathered before it is written."""

    def __init__(self, work: Transaction) -> None:
        self._work = work
        self._kept_until = work.now + millis(work.settings.keep_succeeded)
        self._rows: list[tuple[Any, ...]] = []
        self._queues: list[str] = []
        self._large: list[blobs.Large] = []
        self._keys = blobs.keys(work)
        self._erased: list[tuple[str, Fenced]] = []

    def add(self, id: str, end: Settlement, row: Fenced) -> None:
        """Keep one end, or mark its record for being erased."""
        text, hex = from_bytes(end.result, end.codec)
        if row.keep == 0:
            self._erased.append((id, row))
        else:
            self._keep(id, end, row, (text, hex))
        if row.reply is not None:
            self._work.tell(row.reply, Outline(id, int(State.SUCCEEDED), end.codec, text))

    def _keep(self, id: str, end: Settlement, row: Fenced, result: Bytes) -> None:
        until = self._kept_until if row.keep is None else self._work.now + row.keep
        if end.result is not None and len(end.result) > SPILL:
            key = next(self._keys)
            self._large.append((key, end.result, end.codec))
            self._rows.append((id, key, None, end.codec, until))
        else:
            self._rows.append((id, *result, end.codec, until))
        self._queues.append(row.queue)

    def write(self, session: SessionId) -> int:
        """Write all of it; says how many records were kept."""
        work = self._work
        if self._rows:
            work.run("settle_done", encode(self._rows), session, work.now)
        blobs.store(work, self._large)
        for queue, n in Counter(self._queues).items():
            work.moved(queue, State.RUNNING, State.SUCCEEDED, n)
        if self._erased:
            self._erase(session)
        return len(self._rows)

    def _erase(self, session: SessionId) -> None:
        work, ids = self._work, [id for id, _ in self._erased]
        blobs.drop(work, [id for id, row in self._erased if row.spilled], bodies=True)
        work.run(
            "erase", encode(ids), session, work.now, work.now + millis(ERASED_FOR * work.settings.timeout)
        )
        work.run("erased_drop", work.now, 2 * len(ids))
        for queue, n in Counter([row.queue for _, row in self._erased]).items():
            work.moved(queue, State.RUNNING, ERASED, n)


def _settle_done(
    work: Transaction, session: SessionId, items: Sequence[Item], verdicts: list[Verdict]
) -> None:
    """Record successes."""
    asked = [(end.id.hex(), end.starts) for _, end in items]
    alive, kept, stale, found = work.row("settle_look_done", encode(asked), session, work.now)
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


def _settle_rest(
    work: Transaction, session: SessionId, items: Sequence[Item], verdicts: list[Verdict]
) -> None:
    """Record every other end."""
    asked = encode([(end.id.hex(), end.starts) for _, end in items])
    alive, worker, found = work.row("settle_look", asked, session)
    rows: list[tuple[Any, ...]] = []
    seen: set[str] = set()
    for (index, end), row in zip(items, decode(found, list[Running]), strict=True):
        if row.fence == HELD and alive and row.id not in seen:
            verdicts[index] = Verdict.OK
            seen.add(row.id)
            rows.append(end_start(work, row, _end(end), session=session, worker=worker, began=end.began))
        elif row.fence == ENDED or row.id in seen:
            verdicts[index] = Verdict.ALREADY
    write_ends(work, session, rows)


def end_start(
    work: Transaction, row: Running, end: End, *, session: int, worker: str, began: float
) -> tuple[Any, ...]:
    """Decide one end, count it and tell of it; returns its row for `write_ends`."""
    end = respecting_cancel(end, row)
    queue, state = row.queue, end.state
    work.moved(queue, State.RUNNING, state)
    if state is State.FAILED:
        work.moved(queue, None, DEAD)
    if state.final:
        work.ended(row.id, row.reply, state)
    elif state is not State.PARKED and end.delay <= work.settings.poll:
        work.has_work({queue})
    return row_after(
        end, row, now=work.now, settings=work.settings, session=session, worker=worker, began=began
    )


def write_ends(work: Transaction, session: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write ends that `end_start` decided, of starts that `session` holds."""
    if rows:
        work.run("settle", encode(rows), session, MAX_LOG)


def _end(end: Settlement) -> End:
    return End(end.outcome, end.state, end.delay, end.failure)
