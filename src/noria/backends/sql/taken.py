"""Ids and unique keys that are taken already: which job stands for one that was to be stored, or makes way for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from noria.backends import meeting
from noria.backends.claims import Holder
from noria.backends.meeting import Key, changed, changes
from noria.backends.sql.bounds import full
from noria.backends.sql.drafts import DEADLINE, DUE, EXPIRES, STATE, Drafts
from noria.backends.sql.holders import Holders
from noria.backends.sql.rows import decode, encode, to_id
from noria.backends.sql.transaction import Transaction
from noria.ids import Id
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt


class Taken(Struct, array_like=True):
    """An item of `push_taken.sql`.

    Attributes:
        stored: whether the id is.
        trace: what is remembered of it, if it was added to another job.
        holder: the job that has the key, as hex; hold: until when, if it does so for a time of its own.
    """

    stored: int
    trace: str | None
    holder: str | None
    hold: int | None

    def is_over(self, now: int) -> bool:
        """Whether the holder's time is over, so that the key is free."""
        return self.hold is not None and 0 < self.hold <= now


def hold(work: Transaction, drafts: Drafts) -> None:
    """Have others wait who may change the holders of the same keys as these drafts; before anything is stored."""
    if drafts.claims and not drafts.holding and (keys := contested(drafts)):
        work.hold_keys(keys)
        drafts.holding = True


def decide(work: Transaction, drafts: Drafts, places: Iterable[int] | None = None) -> None:
    """Drop the drafts for which another job stands, stored or before it in the same batch, or that have no room.

    Nothing is written: what becomes of those that hold keys is `drafts.pending`.

    Args:
        places: of the drafts that are looked at; all, unless it is given.
    """
    looked = range(len(drafts.jobs)) if places is None else places
    new = [index for index in looked if drafts.rows[index] is not None]
    asked = [
        (drafts.jobs[index].id.hex(), drafts.jobs[index].task, drafts.jobs[index].unique) for index in new
    ]
    taken = dict(zip(new, _read(work.row("push_taken", encode(asked))[0]), strict=True))
    holders = Holders(work)
    wanted = {each.holder for index, each in taken.items() if each.holder and changes(drafts.jobs[index])}
    holders.read(sorted(wanted))
    judge = _Meeting(work, drafts, holders)
    for index, each in taken.items():
        judge.settle(index, each)
    for job, receipt in judge.added:
        holders.remember(job, receipt)
    drafts.pending = holders


def contested(drafts: Drafts) -> list[Key]:
    """The keys whose holders some of these drafts may change."""
    jobs = [drafts.jobs[index] for index in drafts.claims if drafts.rows[index] is not None]
    return sorted({(job.task, job.unique) for job in jobs if changes(job) and job.unique is not None})


def _read(found: Any) -> list[Taken]:
    # A caller's own driver has read the JSON already, if it is told to.
    return msgspec.convert(found, list[Taken]) if isinstance(found, list) else decode(found, list[Taken])


class _Meeting(meeting.Meeting):
    """Drafts, and who has their ids and keys."""

    def __init__(self, work: Transaction, drafts: Drafts, holders: Holders) -> None:
        super().__init__(work.now, work.settings.max_body)
        self._work = work
        self._drafts = drafts
        self._holders = holders

    def settle(self, index: int, taken: Taken) -> None:
        """Decide about one draft."""
        drafts, holder = self._drafts, taken.holder
        if holder is not None and taken.is_over(self.now):
            self._holders.release(holder)
            holder = None
        stand = meeting.Taken(
            bool(taken.stored), taken.trace or "", None if holder is None else to_id(holder)
        )
        receipt = self.judge(index, drafts.jobs[index], stand)
        if receipt is None:
            return
        if receipt.status == "created" and drafts.receipts[index].status == "replaced":
            receipt = drafts.receipts[index]  # it was judged before, and the other has made way since
        if receipt.status in NEW:
            drafts.receipts[index] = receipt
        else:
            drafts.drop(index, receipt)

    def known(self, id: Id) -> Holder | None:
        return self._holders.known.get(id)

    def fresh(self, place: int) -> Holder:
        drafts, job, row = self._drafts, self._drafts.jobs[place], self._drafts.rows[place]
        assert row is not None, "only one that is to be stored holds a key"
        return Holder(
            job.id,
            row[STATE],
            0,
            job.queue,
            row[DUE],
            drafts.now,
            row[EXPIRES],
            row[DEADLINE],
            job.codec,
            job.body,
            place,
        )

    def refusal(self, place: int, job: NewJob, before: Holder | None) -> Receipt | None:
        if self._drafts.find_room(place, freed=before is not None):
            return None
        return Receipt("rejected", job.id, full(self._work.bounds_of(job.queue)), full=True)

    def make_way(self, holder: Holder, successor: Id | None) -> None:
        if holder.place is None:
            self._holders.pass_on(holder, successor)
        else:
            self._drafts.give_up(holder.place, successor)

    def change(self, holder: Holder) -> None:
        if holder.place is None:
            self._holders.change(holder)
        else:
            self._drafts.change(holder.place, changed(self._drafts.jobs[holder.place], holder))
            bounds = self._work.bounds_of(holder.queue)
            if bounds.shapes:
                self._drafts.shape(holder.place, bounds)
