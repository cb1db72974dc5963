"""Enqueueing: one script for the jobs of all calls that came together, a thousand at most, unless one call has more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from noria.backends.claims import read_trace
from noria.backends.contract import DocWrite
from noria.backends.redis import board, claims, heirs
from noria.backends.redis.call import Call, Request, Steps, Word
from noria.backends.redis.drafts import Drafts
from noria.backends.redis.settings import Settings
from noria.backends.redis.ties import told
from noria.backends.units import millis
from noria.ids import Id
from noria.model.after import not_there
from noria.model.job import NO_EXTRAS, NewJob, Receipt
from noria.model.limits import MAX_BATCH

_ANOTHER: Final = "another job of its call was rejected, and they go along with documents"
_ID: Final = 16


@dataclass(slots=True)
class Push(Call):
    """The call of one producer. Calls that came together are run as one; see `Pushes`."""

    jobs: Sequence[NewJob]
    docs: Sequence[DocWrite] = ()


@dataclass(slots=True)
class _Parcel:
    """The pushes that one script stores."""

    members: list[int]
    size: int


Reply = list[Receipt] | Exception


@dataclass(slots=True)
class Pushes(Call):
    """The calls of all producers that came together."""

    pushes: Sequence[Push]
    sifts: ClassVar[bool] = True

    def steps(self, settings: Settings) -> Steps:
        """Store the jobs and documents, as `Queue.push` promises; the reply has one for each push."""
        drafts = [self._draft(push, settings) for push in self.pushes]
        parcels = list(self._pack(drafts, contests=False))
        answers = (yield [self._request(parcel, drafts, settings) for parcel in parcels]) if parcels else []
        replies: list[Reply] = [each.receipts for each in drafts]
        if any(each.contests for each in drafts):
            for parcel in self._pack(drafts, contests=True):
                yield from self._contest(parcel, drafts, replies, settings)
        for parcel, answer in zip(parcels, answers, strict=True):
            if any(_waits(self.pushes[index].jobs) for index in parcel.members):
                (_,) = yield [heirs.request(settings)]
            fault = self._fault(parcel, answer)
            if fault is None:
                self._note_taken(parcel, drafts, answer)
            else:
                replies = [fault if index in parcel.members else each for index, each in enumerate(replies)]
        return replies

    def _draft(self, push: Push, settings: Settings) -> Drafts:
        drafts = Drafts(push.jobs, settings.max_body)
        if push.docs and not drafts.whole:
            drafts.reject_all(_ANOTHER)
        return drafts

    def _contest(
        self, parcel: _Parcel, drafts: Sequence[Drafts], replies: list[Reply], settings: Settings
    ) -> Steps:
        """Store jobs that may change those that hold their keys."""
        places = [(index, place) for index in parcel.members for place in drafts[index].stored()]
        jobs = [self.pushes[index].jobs[place] for index, place in places]
        answers = yield from claims.push(jobs, self.pushes[parcel.members[0]].docs, settings)
        if isinstance(answers, Exception):
            for index in parcel.members:
                replies[index] = answers
            return
        for (index, place), receipt in zip(places, answers, strict=True):
            if isinstance(receipt, int):
                drafts[index].note_full(place, receipt)
            elif receipt.status == "rejected":
                drafts[index].refuse(place, receipt)
            else:
                drafts[index].receipts[place] = receipt
        if self.pushes[parcel.members[0]].docs and not drafts[parcel.members[0]].whole:
            drafts[parcel.members[0]].reject_all(_ANOTHER)
        if _waits(jobs) or any(drafts[index].receipts[place].status == "replaced" for index, place in places):
            yield [heirs.request(settings)]

    def _pack(self, drafts: Sequence[Drafts], *, contests: bool) -> Iterator[_Parcel]:
        """Put pushes together; one with documents stays alone, since these are written or not with its jobs.

        Args:
            contests: those that may change the jobs that hold their keys, or the others.
        """
        open_one = _Parcel([], 0)
        for index, (push, draft) in enumerate(zip(self.pushes, drafts, strict=True)):
            size = len(draft.stored())
            if draft.contests is not contests:
                continue
            if push.docs:
                if draft.whole:
                    yield _Parcel([index], size)
            elif size:
                if open_one.members and open_one.size + size > MAX_BATCH:
                    yield open_one
                    open_one = _Parcel([], 0)
                open_one.members.append(index)
                open_one.size += size
        if open_one.members:
            yield open_one

    def _request(self, parcel: _Parcel, drafts: Sequence[Drafts], settings: Settings) -> Request:
        docs = self.pushes[parcel.members[0]].docs
        jobs = [job for index in parcel.members if drafts[index].ties for job in self.pushes[index].jobs]
        words: list[Word] = [millis(settings.poll), told(jobs), len(docs), *board.words(docs)]
        for index in parcel.members:
            for each in drafts[index].words:
                if each is not None:
                    words += each
        return Request("push", words)

    def _fault(self, parcel: _Parcel, answer: object) -> Exception | None:
        if isinstance(answer, bytes):
            return board.conflict(self.pushes[parcel.members[0]].docs, answer)
        return answer if isinstance(answer, Exception) else None

    def _note_taken(self, parcel: _Parcel, drafts: Sequence[Drafts], answer: Sequence[object]) -> None:
        """Write the receipts of jobs for which another one stands."""
        places = [(index, place) for index in parcel.members for place in drafts[index].stored()]
        refused = False
        for at, holder in zip(answer[::2], answer[1::2], strict=True):
            assert isinstance(at, int), "a place"
            assert isinstance(holder, bytes), "an id, or of a queue that is full how many jobs may wait there"
            index, place = places[at]
            if len(holder) < _ID:
                drafts[index].note_full(place, int(holder))
                refused = True
                continue
            id = self.pushes[index].jobs[place].id
            if len(holder) == _ID + 1:
                # It was to wait for a job that is not there.
                drafts[index].reject(place, not_there(holder[1:].hex()))
                refused = True
            elif len(holder) > _ID:
                drafts[index].receipts[place] = read_trace(id, holder.decode())
            else:
                why = "id" if holder == id else "unique"
                drafts[index].receipts[place] = Receipt("existing", Id(holder), why)
        if refused and self.pushes[parcel.members[0]].docs:
            drafts[parcel.members[0]].reject_all(_ANOTHER)


def _waits(jobs: Sequence[NewJob]) -> bool:
    """Whether one of them waits for others."""
    return any(job.extras.after for job in jobs if job.extras is not NO_EXTRAS)
