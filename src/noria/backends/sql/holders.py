"""Stored jobs that hold unique keys which others want: read closer, changed, cancelled, or set free of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from noria.backends.claims import Holder, replaced_by, trace_of
from noria.backends.sql import blobs
from noria.backends.sql.bounds import Bounds
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.passage import finish, line_up
from noria.backends.sql.rows import Due, Waiting, decode, encode, from_bytes, to_bytes, to_id
from noria.backends.sql.settings import ERASED_FOR
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis
from noria.ids import Id
from noria.model.job import NewJob, Receipt
from noria.model.state import State


class Held(Struct, array_like=True, gc=False):
    """A row of `claim_look.sql`; a large body has a `key` in its stead."""

    id: str
    state: int
    starts: int
    queue: str
    task: str
    reply: str | None
    hold: int | None
    priority: int
    due: int
    created: int
    expires: int | None
    deadline: int | None
    codec: str
    text: str | None
    hex: str | None
    key: int | None
    family: str | None = None
    group_key: str | None = None
    placed: int = 0
    pending: int = 0


class Holders:
    """What becomes of stored jobs whose keys others want.

    Attributes:
        known: those that were looked at and still hold keys.
    """

    def __init__(self, work: Transaction) -> None:
        self._work = work
        self._rows: dict[Id, Held] = {}
        self.known: dict[Id, Holder] = {}
        self._changed: dict[Id, Holder] = {}
        self._released: list[str] = []
        self._replaced: dict[str, tuple[Waiting, Id]] = {}
        self._traces: list[tuple[str, str, str, str]] = []

    def read(self, ids: Sequence[str]) -> None:
        """Look at some."""
        if not ids:
            return
        work = self._work
        rows = _rows(work.row("claim_look", encode(ids))[0])
        keys = [row.key for row in rows if row.key is not None]
        large = dict(zip(keys, blobs.read(work, keys), strict=True)) if keys else {}
        for row in rows:
            text, hex = (
                large.get(row.key, (row.text, row.hex)) if row.key is not None else (row.text, row.hex)
            )
            holder = _holder(row, to_bytes(text, hex) or b"")
            self._rows[holder.id] = row
            self.known[holder.id] = holder

    def release(self, id: str) -> None:
        """Have a job hold its key no more."""
        self._released.append(id)

    def pass_on(self, holder: Holder, successor: Id | None) -> None:
        """Have a job give its key to a later one and, if that is its successor, end as cancelled."""
        row = self._rows[holder.id]
        if successor is not None:
            self._replaced[row.id] = (
                Waiting(
                    row.id,
                    row.queue,
                    row.task,
                    holder.state,
                    row.reply,
                    0,
                    1,
                    row.family,
                    row.group_key,
                    row.placed,
                ),
                successor,
            )
        if successor is None or row.hold:
            self._released.append(row.id)

    def change(self, holder: Holder) -> None:
        """Write a job as it is now."""
        self._changed[holder.id] = holder

    def remember(self, job: NewJob, receipt: Receipt) -> None:
        """Have a repeated push of a job that was added to another one be recognised for a while."""
        self._traces.append((job.id.hex(), job.queue, job.task, trace_of(receipt)))

    def write(self) -> None:
        """Do all of it."""
        work = self._work
        if self._changed:
            self._change(list(self._changed.values()))
        if self._released:
            work.run("push_release", encode(sorted(set(self._released))))
        if self._replaced:
            cancel(work, list(self._replaced.values()))
        if self._traces:
            work.run(
                "push_traces",
                encode(self._traces),
                work.now,
                work.now + millis(ERASED_FOR * work.settings.timeout),
            )

    def _change(self, holders: Sequence[Holder]) -> None:
        work = self._work
        rows = [self._rows[holder.id] for holder in holders]
        for holder, row in zip(holders, rows, strict=True):
            if row.state == State.WAITING and not row.pending and holder.due > work.now:
                holder.state = int(State.SCHEDULED)  # it was in line
        blobs.drop(work, [row.id for row in rows], bodies=True)
        keys, large, values = blobs.keys(work), [], []
        for holder, row in zip(holders, rows, strict=True):
            body: tuple[Any, Any] = from_bytes(holder.body, holder.codec)
            if work.settings.spills(len(holder.body)):
                body = next(keys), None
                large.append((body[0], holder.body, holder.codec))
            values.append((row.id, *_place(work.bounds_of(row.queue), holder, row), *body, holder.codec))
        blobs.store(work, large)
        work.run("claim_change", encode(values))
        for holder, row in zip(holders, rows, strict=True):
            if not _bound(work, holder, row):
                work.moved(row.queue, row.state, holder.state)
            work.has_work(row.queue)


def _bound(work: Transaction, holder: Holder, row: Held) -> bool:
    """Find the place of a changed job that has a group; says whether that was all."""
    if row.family is None or row.group_key is None or holder.state == row.state:
        return False
    if holder.state == State.QUEUED:
        job = Due(row.id, row.queue, row.state, row.family, row.group_key, row.placed)
        return line_up(work, job, row.state)
    if row.state == State.QUEUED:
        work.groups.leave(row.family, row.group_key, eligible=True)
        work.groups.stand_back(row.id)
    return False


def conclude(work: Transaction, drafts: Drafts) -> None:
    """Say of stored drafts for how long they hold their keys; cancel those that others of the same call replace."""
    if not (drafts.claims or drafts.given_up):
        return
    if holds := drafts.holds():
        work.run("push_holds", encode(holds))
    replaced = [
        (Waiting(job.id.hex(), job.queue, job.task, row[1], job.reply, 0, 1), successor)
        for place, successor in drafts.given_up.items()
        if successor is not None and (row := drafts.rows[place]) is not None
        for job in (drafts.jobs[place],)
    ]
    if replaced:
        cancel(work, replaced)


def cancel(work: Transaction, replaced: Sequence[tuple[Waiting, Id]]) -> None:
    """End jobs that wait, each because of its successor."""
    successors = {waiting.id: successor for waiting, successor in replaced}
    finish(
        work,
        [waiting for waiting, _ in replaced],
        State.CANCELLED,
        lambda waiting: replaced_by(successors[waiting.id]),
    )


def _rows(found: Any) -> list[Held]:
    # A caller's own driver has read the JSON already, if it is told to.
    return decode(encode(found) if isinstance(found, list) else found, list[Held])


def _holder(row: Held, body: bytes) -> Holder:
    return Holder(
        to_id(row.id),
        row.state,
        row.starts,
        row.queue,
        row.due,
        row.created,
        row.expires,
        row.deadline,
        row.codec,
        body,
    )


def _place(bounds: Bounds, holder: Holder, row: Held) -> tuple[int | None, ...]:
    """State, rank and times, as `claim_change.sql` takes them."""
    return (
        holder.state,
        bounds.rank(holder.due, row.priority),
        holder.due,
        holder.expires,
        holder.deadline,
        bounds.lapse(holder.due, holder.expires, holder.deadline),
    )
