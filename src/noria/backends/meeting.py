"""Jobs that are pushed together, one after the other, and who has their ids and unique keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from msgspec import structs

from noria.backends.claims import Holder, meet, read_trace
from noria.ids import Id
from noria.model.after import not_there
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt

Key = tuple[str, str]
"""A task and a unique key."""


class Taken(NamedTuple):
    """What a store has of a job's id and key.

    Attributes:
        stored: whether the id is; trace: what is remembered of it, if it was added to another job.
        holder: the job that has the key.
    """

    stored: bool
    trace: str
    holder: Id | None


class Meeting(ABC):
    """Decides what becomes of each; what that means for those that hold keys is for the store to write.

    Attributes:
        added: the jobs that were added to others, each with what its producer is told.
    """

    def __init__(self, now: int, max_body: int) -> None:
        self.now = now
        self.added: list[tuple[NewJob, Receipt]] = []
        self._max_body = max_body
        self._ids: dict[Id, Receipt] = {}
        self._keys: dict[Key, Holder | int | Id] = {}
        self._unsure: set[Key] = set()
        self._absent: set[str] = set()

    @abstractmethod
    def known(self, id: Id) -> Holder | None:
        """A stored job that holds a key, as it was looked at; None if it holds none any more."""

    @abstractmethod
    def fresh(self, place: int) -> Holder:
        """A job of this meeting that is to be stored, and so holds its key."""

    @abstractmethod
    def refusal(self, place: int, job: NewJob, before: Holder | None) -> Receipt | None:
        """Why a job that is to be stored is not, since its queue has no room for it; None if it has, or if others see.

        Args:
            before: the job of the same queue that makes way for it, whose room it takes.
        """

    @abstractmethod
    def make_way(self, holder: Holder, successor: Id | None) -> None:
        """Have a job give its key to a later one and, if that is its successor, end as cancelled."""

    @abstractmethod
    def change(self, holder: Holder) -> None:
        """Have a job be written as it is now."""

    def judge(self, place: int, job: NewJob, taken: Taken) -> Receipt | None:
        """What a job's producer is told; the job is to be stored if that is one of `NEW`.

        None: who had its key has ended since it was looked at, so that nothing can be said before it is tried again.
        """
        if taken.stored or job.id in self._ids:
            return self._again(job.id, taken)
        receipt = self._orphaned(job) or self._met(place, job, taken)
        if receipt is None:
            return None
        self._ids[job.id] = receipt
        if receipt.status == "rejected":
            self._absent.add(job.id.hex())
            return receipt
        self._absent.discard(job.id.hex())
        if receipt.status in ("updated", "merged"):
            self.added.append((job, receipt))
        elif receipt.status in NEW and job.unique is not None:
            self._keys[job.task, job.unique] = place
        return receipt

    def _again(self, id: Id, taken: Taken) -> Receipt:
        if taken.stored:
            return read_trace(id, taken.trace)
        before = self._ids[id]
        return Receipt("existing", id, "id") if before.status in NEW else before

    def _orphaned(self, job: NewJob) -> Receipt | None:
        """That it waits for a job that is neither stored, nor comes before it in this meeting."""
        missing = next((parent for parent in job.extras.after if parent in self._absent), None)
        return None if missing is None else orphaned(job, missing)

    def _met(self, place: int, job: NewJob, taken: Taken) -> Receipt | None:
        found = None if job.unique is None else self._keys.get((job.task, job.unique), taken.holder)
        if found is None or job.unique is None:
            return self.refusal(place, job, None) or Receipt("created", job.id)
        key = job.task, job.unique
        if key in self._unsure:
            return None
        if not changes(job):
            return Receipt("existing", self._id_of(found), "unique")
        holder = self._holder(found)
        if holder is None:
            self._unsure.add(key)
            return None
        self._keys[key] = holder
        receipt = meet(job, holder, self.now, self._max_body)
        if receipt.status in NEW:
            # Before anything becomes of the holder.
            takes_room = receipt.status == "replaced" and holder.queue == job.queue
            receipt = self.refusal(place, job, holder if takes_room else None) or receipt
        self._follow(receipt, holder)
        return receipt

    def _id_of(self, found: Holder | int | Id) -> Id:
        if isinstance(found, int):
            return self.fresh(found).id
        return found.id if isinstance(found, Holder) else found

    def _holder(self, found: Holder | int | Id) -> Holder | None:
        if isinstance(found, int):
            return self.fresh(found)
        return found if isinstance(found, Holder) else self.known(found)

    def _follow(self, receipt: Receipt, holder: Holder) -> None:
        if receipt.status in NEW:
            self.make_way(holder, receipt.id if receipt.status == "replaced" else None)
        elif receipt.status in ("updated", "merged"):
            self.change(holder)


def orphaned(job: NewJob, missing: str) -> Receipt:
    """A job that cannot be stored, since one that it is to wait for is not there; that is given as hex."""
    return Receipt("rejected", job.id, f"it cannot be stored: {not_there(missing)}")


def changes(job: NewJob) -> bool:
    """Whether a job may do something to the one that holds its key."""
    return job.claim is not None and job.claim.changes


def changed(job: NewJob, holder: Holder) -> NewJob:
    """A job that is to be stored, as its successors of the same meeting would have it."""
    return structs.replace(
        job,
        body=holder.body,
        codec=holder.codec,
        at=holder.due / 1000,
        expires=None if holder.expires is None else holder.expires / 1000,
        deadline=None if holder.deadline is None else holder.deadline / 1000,
    )
