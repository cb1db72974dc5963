"""Changes of jobs that wait: edit and move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from msgspec import UNSET, structs

from noria.backends.contract import Change
from noria.backends.sql import blobs
from noria.backends.sql.answers import Answers, changed, done, refused
from noria.backends.sql.bounds import Bounds
from noria.backends.sql.passage import line_up
from noria.backends.sql.rows import Altering, encode, from_bytes, read_extras, write_extras
from noria.backends.sql.transaction import Transaction
from noria.backends.units import millis, millis_or_none
from noria.model.state import EDITABLE, State, legal


@dataclass(frozen=True, slots=True)
class Stand:
    """How a job waits: when it may run, in which order, until when."""

    row: Altering
    state: State
    priority: int
    due: int
    expires: int | None
    extras: str | None

    @staticmethod
    def of(row: Altering) -> Stand:
        """As it does now."""
        return Stand(row, State(row.state), row.priority, row.due, row.expires, row.extras)

    def due_at(self, due: int, now: int) -> Stand:
        """With another time before which it may not run."""
        if self.row.pending:
            # When it has nobody to wait for any more, it is seen whether that has come.
            return replace(self, due=due)
        if due <= now:
            return replace(self, due=due, state=State.QUEUED)
        later = State.SCHEDULED if self.state in (State.QUEUED, State.WAITING) else self.state
        return replace(self, due=due, state=later)

    def values(self, bounds: Bounds) -> tuple[object, ...]:
        """The row of `alter_wait.sql`, in a queue of these limits."""
        row = self.row
        lapse = bounds.lapse(self.due, self.expires, row.deadline, begun=bool(row.begun))
        place = bounds.rank(self.due, self.priority)
        return row.id, self.state, self.priority, place, self.due, self.expires, lapse, self.extras


def edit(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    """Change the options of jobs that wait."""
    answers: Answers = {}
    stands: dict[str, Stand] = {}
    for row in rows:
        if row.state and _editable(row, change):
            stands[row.id] = _edited(Stand.of(row), change, work.now)
            answers[row.id] = done(stands[row.id].state)
        elif row.state:
            answers[row.id] = refused(row)
    write(work, list(stands.values()), change)
    replace_bodies(work, list(stands), change)
    return answers


def move(work: Transaction, rows: Sequence[Altering], change: Change) -> Answers:
    """Have jobs that wait do so in another queue."""
    answers: Answers = {}
    moving: dict[str, Altering] = {}
    for row in rows:
        if row.state in EDITABLE:
            answers[row.id] = done(row.state)
            if row.queue != change.queue:
                moving[row.id] = row
        elif row.state:
            answers[row.id] = refused(row)
    if moving:
        bounds = work.bounds_of(change.queue)
        placed = [
            (
                row.id,
                bounds.rank(row.due, row.priority),
                bounds.lapse(row.due, row.expires, row.deadline, begun=bool(row.begun)),
            )
            for row in moving.values()
        ]
        work.run("alter_move", encode(placed), change.queue, changed(change))
        work.has_work(change.queue)
    for row in moving.values():
        work.moved(row.queue, row.state, None)
        work.moved(change.queue, None, row.state)
    return answers


def write(work: Transaction, stands: Sequence[Stand], change: Change) -> None:
    """Write how jobs wait from now on; count and tell what that moves."""
    if not stands:
        return
    values = [stand.values(work.bounds_of(stand.row.queue)) for stand in stands]
    work.run("alter_wait", encode(values), changed(change))
    for stand in stands:
        before = State(stand.row.state)
        assert stand.state is before or legal(before, "operator edit", stand.state), "by the table of states"
        if not _bound(work, stand, before):
            work.moved(stand.row.queue, before, stand.state)
    for queue in {stand.row.queue for stand in stands}:
        work.has_work(queue)


def _bound(work: Transaction, stand: Stand, before: State) -> bool:
    """Find the place of a job that has a group; says whether that was all."""
    row = stand.row
    if row.family is None or row.group_key is None:
        return False
    if stand.state is State.QUEUED and before is not State.QUEUED:
        return line_up(work, row, before)
    if before is State.QUEUED and stand.state is State.SCHEDULED:
        work.groups.leave(row.family, row.group_key, eligible=True)
        work.groups.stand_back(row.id)
    return False


def replace_bodies(work: Transaction, ids: Sequence[str], change: Change) -> None:
    """Give jobs that wait the body of a change, if it has one."""
    if change.body is None or not ids:
        return
    blobs.drop(work, ids, bodies=True)
    if work.settings.spills(len(change.body)):
        keyed = dict(zip(blobs.keys(work), ids, strict=False))
        blobs.store(work, [(key, change.body, change.codec) for key in keyed])
        rows: Iterable[tuple[object, ...]] = [(id, key, None) for key, id in keyed.items()]
    else:
        rows = [(id, *from_bytes(change.body, change.codec)) for id in ids]
    work.run("alter_body", encode(list(rows)), change.codec)


def _editable(row: Altering, change: Change) -> bool:
    if row.state not in EDITABLE:
        return False
    if (change.body is not None and row.starts) or (change.expires is not UNSET and row.begun):
        return False
    return change.run_at is UNSET or row.state != State.PARKED


def _edited(stand: Stand, change: Change, now: int) -> Stand:
    if change.priority is not UNSET:
        stand = replace(stand, priority=change.priority)
    if change.expires is not UNSET:
        stand = replace(stand, expires=millis_or_none(change.expires))
    if change.tags is not UNSET:
        extras = structs.replace(read_extras(stand.extras), tags=change.tags)
        stand = replace(stand, extras=write_extras(extras))
    return stand if change.run_at is UNSET else stand.due_at(millis(change.run_at), now)
