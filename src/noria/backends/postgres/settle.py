"""How starts that succeeded are recorded in PostgreSQL: fence and outcome in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noria.backends.contract import Outline, Verdict
from noria.backends.sql import settle
from noria.backends.sql.outlines import tells
from noria.backends.sql.prune import prune_within
from noria.backends.sql.rows import ENDED, HELD, Fenced, decode, encode, from_bytes
from noria.backends.sql.settings import BLOB_CHUNK, ERASED_FOR
from noria.backends.sql.settle import Item
from noria.backends.sql.transaction import ERASED, Transaction
from noria.backends.units import millis
from noria.ids import Id
from noria.model.settlement import Settlement
from noria.model.state import State

Bound = tuple[int, str | None, str | None, str]
"""A success of a job with a group or needs: its place from 1, its family, key and gate."""


@dataclass(slots=True)
class Settle(settle.Settle):
    """The call."""

    def settle_done(self, work: Transaction, items: Sequence[Item], verdicts: list[Verdict]) -> None:
        first: dict[tuple[Id, int], int] = {}
        again: list[tuple[int, int]] = []
        fresh: list[Item] = []
        for index, end in items:
            fence = end.id, end.starts
            if fence in first:
                again.append((index, first[fence]))
            else:
                first[fence] = index
                fresh.append((index, end))
        for portion in _portions(fresh):
            self._record(work, portion, verdicts)
        for index, before in again:
            verdicts[index] = Verdict.ALREADY if verdicts[before] is Verdict.OK else verdicts[before]

    def _record(self, work: Transaction, items: Sequence[Item], verdicts: list[Verdict]) -> None:
        settings = work.settings
        rows, outlines = zip(*(_row(end) for _, end in items), strict=True)
        keep, trace = millis(settings.keep_succeeded), millis(ERASED_FOR * settings.timeout)
        homes, replies, misses, parents, kept, stale, bounds, bound = work.row(
            "settle_done", encode(rows), self.session, work.now, keep, trace
        )
        work.know_bounds(bounds)
        missed = dict(decode(misses, list[tuple[int, int]]))
        for place, (index, _) in enumerate(items, 1):
            code = missed.get(place)
            if code is None:
                verdicts[index] = Verdict.OK
            elif code == ENDED:
                verdicts[index] = Verdict.ALREADY
        for place, reply in decode(replies, list[tuple[int, str]]):
            work.tell(reply, outlines[place - 1])
        for place in decode(parents, list[int]):
            work.ended_parents[items[place - 1][1].id.hex()] = State.SUCCEEDED
        if bound is not None:
            _leave(work, items, decode(bound, list[Bound]))
        for queue, task, erased, n in decode(homes, list[tuple[str, str, int, int]]):
            work.moved(queue, State.RUNNING, ERASED if erased else State.SUCCEEDED, n)
            work.happened(queue, task, "succeeded", n)
            if erased:
                work.run("erased_drop", work.now, 2 * n)
            else:
                kept += n
        over = kept - settings.keep_succeeded_at_most
        prune_within(work, 2 * len(items), over=over, stale=bool(stale))


def _leave(work: Transaction, items: Sequence[Item], bound: Sequence[Bound]) -> None:
    """Give up the places and the tokens of jobs that succeeded."""
    ended = []
    for place, family, key, gate in bound:
        _, end = items[place - 1]
        ended.append((end.id.hex(), family, key, gate))
        work.groups.free(gate)
        if family is not None and key is not None:
            work.groups.leave(family, key)
            settle.close_group(work, Fenced(HELD, family=family, group_key=key), end)
    work.run("bound_ended", encode(ended))


def _row(end: Settlement) -> tuple[tuple[object, ...], Outline]:
    """A success as the statement takes it, and what is told of it."""
    id, (text, hex) = end.id.hex(), from_bytes(end.result, end.codec)
    outline = Outline(id, int(State.SUCCEEDED), end.codec, text)
    # Where somebody waits for a value that no hint can carry, it stays until they had time to read it.
    return (id, end.starts, text, hex, end.codec, tells(outline, end.result)), outline


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """As many as a statement can well take."""
    portion: list[Item] = []
    size = 0
    for item in items:
        length = len(item[1].result or b"")
        if portion and size + length > BLOB_CHUNK:
            yield portion
            portion, size = [], 0
        portion.append(item)
        size += length
    if portion:
        yield portion
