"""Ids and unique keys that are taken already: which job stands for one that was to be stored, or makes way for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, structs

from noria.backends.claims import Holder, meet, read_trace
from noria.backends.sql.drafts import DUE, STATE, Drafts
from noria.backends.sql.holders import Holders
from noria.backends.sql.rows import decode, encode, to_id
from noria.backends.sql.transaction import Transaction
from noria.ids import Id
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt

Key = tuple[str, str]


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


def stand_back(work: Transaction, drafts: Drafts, places: Iterable[int] | None = None) -> None:
    """Drop the drafts for which another job stands: a stored one, or one before it in the same batch.

    Args:
        places: of the drafts that are looked at; all, unless it is given.
    """
    looked = range(len(drafts.jobs)) if places is None else places
    new = [index for index in looked if drafts.rows[index] is not None]
    asked = [
        (drafts.jobs[index].id.hex(), drafts.jobs[index].task, drafts.jobs[index].unique) for index in new
    ]
    taken = _read(work.row("push_taken", encode(asked))[0])
    meeting = _Meeting(work, drafts)
    meeting.know(
        {
            each.holder
            for index, each in zip(new, taken, strict=True)
            if each.holder is not None and not each.stored and _changes(drafts.jobs[index])
        }
    )
    for index, each in zip(new, taken, strict=True):
        meeting.judge(index, each)
    meeting.holders.write()


def _read(found: Any) -> list[Taken]:
    # A caller's own driver has read the JSON already, if it is told to.
    return msgspec.convert(found, list[Taken]) if isinstance(found, list) else decode(found, list[Taken])


def _changes(job: NewJob) -> bool:
    return job.claim is not None and job.claim.changes


def contested(drafts: Drafts) -> list[Key]:
    """The keys whose holders some of these drafts may change."""
    jobs = [drafts.jobs[index] for index in drafts.claims if drafts.rows[index] is not None]
    return sorted({(job.task, job.unique) for job in jobs if _changes(job) and job.unique is not None})


class _Meeting:
    """Drafts, one after the other, and who has their ids and keys."""

    def __init__(self, work: Transaction, drafts: Drafts) -> None:
        self._drafts = drafts
        self._now = work.now
        self._most = work.settings.max_body
        self.holders = Holders(work)
        self._ids: dict[Id, Receipt] = {}
        self._keys: dict[Key, Holder | int | Id] = {}
        self._unsure: set[Key] = set()

    def know(self, ids: Iterable[str]) -> None:
        """Look closer at jobs to which something may happen."""
        self.holders.read(sorted(ids))

    def judge(self, index: int, taken: Taken) -> None:
        """Decide about one draft."""
        drafts, job = self._drafts, self._drafts.jobs[index]
        if taken.stored or job.id in self._ids:
            drafts.drop(index, self._again(job.id, taken))
            return
        receipt = self._met(job, taken)
        if receipt is None:
            return
        if receipt.status == "created" and drafts.receipts[index].status == "replaced":
            receipt = drafts.receipts[index]  # it was judged before, and the other has made way since
        self._ids[job.id] = drafts.receipts[index] = receipt
        if receipt.status not in NEW:
            drafts.drop(index, receipt)
            if receipt.status in ("updated", "merged"):
                self.holders.remember(job, receipt)
        elif job.unique is not None:
            self._keys[job.task, job.unique] = index

    def _again(self, id: Id, taken: Taken) -> Receipt:
        if taken.stored:
            return read_trace(id, taken.trace or "")
        before = self._ids[id]
        return Receipt("existing", id, "id") if before.status in NEW else before

    def _met(self, job: NewJob, taken: Taken) -> Receipt | None:
        """What the draft's producer is told; None if who has its key has ended since: then it is tried again."""
        if job.unique is None:
            return Receipt("created", job.id)
        key = job.task, job.unique
        if key not in self._keys and taken.holder is not None:
            if taken.hold is not None and 0 < taken.hold <= self._now:
                self.holders.release(taken.holder)  # its time is over
            else:
                self._keys[key] = self.holders.known.get(taken.holder) or to_id(taken.holder)
        if key not in self._keys:
            return Receipt("created", job.id)
        if key in self._unsure:
            return None
        if not _changes(job):
            return Receipt("existing", self._id_of(self._keys[key]), "unique")
        holder = self._holder(key)
        if holder is None:
            self._unsure.add(key)
            return None
        receipt = meet(job, holder, self._now, self._most)
        self._do(receipt, holder)
        return receipt

    def _id_of(self, holder: Holder | int | Id) -> Id:
        if isinstance(holder, int):
            return self._drafts.jobs[holder].id
        return holder.id if isinstance(holder, Holder) else holder

    def _holder(self, key: Key) -> Holder | None:
        found = self._keys[key]
        if isinstance(found, int):
            found = self._keys[key] = _holder_of(self._drafts, found)
        return found if isinstance(found, Holder) else None

    def _do(self, receipt: Receipt, holder: Holder) -> None:
        """What is to become of the holder."""
        if receipt.status in NEW:
            successor = receipt.id if receipt.status == "replaced" else None
            if holder.place is None:
                self.holders.pass_on(holder, successor)
            else:
                self._drafts.give_up(holder.place, successor)
        elif holder.place is not None and holder.changed:
            self._drafts.change(holder.place, _changed(self._drafts.jobs[holder.place], holder))


def _holder_of(drafts: Drafts, index: int) -> Holder:
    """A draft as one that holds a key."""
    job, row = drafts.jobs[index], drafts.rows[index]
    assert row is not None, "only one that is to be stored holds a key"
    tail = row[-3:-1] if job.unique is not None else (None, None)
    return Holder(
        job.id, row[STATE], 0, job.queue, row[DUE], drafts.now, tail[0], tail[1], job.codec, job.body, index
    )


def _changed(job: NewJob, holder: Holder) -> NewJob:
    """A draft as its successors of the same call would have it."""
    return structs.replace(
        job,
        body=holder.body,
        codec=holder.codec,
        at=holder.due / 1000,
        expires=None if holder.expires is None else holder.expires / 1000,
        deadline=None if holder.deadline is None else holder.deadline / 1000,
    )
