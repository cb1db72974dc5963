"""From a job to what `push.lua` takes, or to the reason why it cannot be stored.

Runs once for every job that is ever enqueued, so it goes straight to what most jobs are: small, due now, and without
options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from noria.backends.ends import follow_up_flaw
from noria.backends.redis.call import Word
from noria.backends.redis.cards import write_card
from noria.backends.redis.heads import FOLLOWS, LIVELY, NEVER, ROOMY, TIMED, WAITING, Head, pack
from noria.backends.redis.ties import tie
from noria.backends.units import millis
from noria.model.job import NewJob, Receipt
from noria.model.limits import MAX_PRIORITY
from noria.model.wording import count

_FURTHEST: Final = 1 << 53
_MOST: Final = 1 << 31
Options = tuple[object, ...]
_SAME: Final = (b"", b"")
_UNFIT = (ValueError, TypeError, OverflowError, AttributeError)


class Drafts:
    """Jobs on their way into the store. Where there are no words, the receipt says why.

    Attributes:
        jobs: as they were given.
        words: for each what the script takes; None where nothing is to be stored.
        receipts: in the same order.
        contests: whether some may change the jobs that hold their keys.
        ties: whether some have groups or needs.
    """

    def __init__(self, jobs: Sequence[NewJob], max_body: int) -> None:
        self.jobs = jobs
        self.words: list[tuple[Word, ...] | None] = []
        self.receipts = [Receipt("created", job.id) for job in jobs]
        self.contests = False
        self.ties = False
        before: Options | None = None
        for index, job in enumerate(jobs):
            try:
                if len(job.body) > max_body:
                    raise ValueError(_too_large(job, max_body))
                options = _options(job)
                # Most jobs of one call differ from the one before in nothing but their arguments.
                first = _SAME
                if options != before:
                    first = head_and_card(job)
                    self.contests |= job.claim is not None and job.claim.changes
                    self.ties |= job.group is not None or bool(job.needs)
                self.words.append((job.id, *first, job.body))
                before = options
            except _UNFIT as error:
                self.words.append(None)
                self._reject(index, error)

    @property
    def flaw(self) -> str | None:
        """Why the first of those that cannot be stored cannot, if there is one."""
        for job, receipt in zip(self.jobs, self.receipts, strict=True):
            if receipt.status == "rejected":
                return follow_up_flaw(job, receipt)
        return None

    @property
    def whole(self) -> bool:
        """Whether all of them can be stored."""
        return None not in self.words

    def reject_all(self, why: str) -> None:
        """Store none of them."""
        for index, words in enumerate(self.words):
            if words is not None:
                self.words[index] = None
                self._reject(index, why)

    def note_full(self, index: int, most: int) -> None:
        """Its queue has no room for this one."""
        job = self.jobs[index]
        why = f"queue {job.queue!r} is full: {count(most, 'job')} may wait in it; enqueue it again later"
        self.words[index] = None
        self.receipts[index] = Receipt("rejected", job.id, why, full=True)

    def refuse(self, index: int, receipt: Receipt) -> None:
        """Store nothing for this job; its receipt says why."""
        self.words[index] = None
        self.receipts[index] = receipt

    def stored(self) -> list[int]:
        """The places of those that are to be stored."""
        return [index for index, words in enumerate(self.words) if words is not None]

    def reject(self, index: int, why: object) -> None:
        """Store nothing for this job."""
        self.words[index] = None
        self._reject(index, why)

    def _reject(self, index: int, why: object) -> None:
        self.receipts[index] = Receipt("rejected", self.jobs[index].id, f"it cannot be stored: {why}")


def _too_large(job: NewJob, max_body: int) -> str:
    return f"its body has {len(job.body)} bytes, and {max_body} is the limit; store large data elsewhere"


def _options(job: NewJob) -> Options:
    """All that makes its head and card."""
    return (
        job.task,
        job.queue,
        job.codec,
        job.lane,
        job.priority,
        job.delay,
        job.at,
        job.expires,
        job.deadline,
        job.attempts,
        job.crash_budget,
        job.unique,
        job.claim,
        job.keep,
        job.reply,
        job.admitted,
        job.extras,
        job.group,
        job.needs,
    )


def head_and_card(job: NewJob, keyed: int | None = None, *, roomy: bool = False) -> tuple[bytes, bytes]:
    """A job but for its id and arguments, as `push.lua` takes it.

    Args:
        keyed: how it has its key, if that is not as it says.
        roomy: whether it has the room of one that makes way for it.

    Raises:
        ValueError: it cannot be stored.
    """
    if not (0 < job.attempts <= _MOST and 0 <= job.crash_budget <= _MOST):
        raise ValueError("its attempts or crash budget is out of range")
    if abs(job.priority) > MAX_PRIORITY:
        raise ValueError("its priority is out of range")
    keyed = _keyed(job) if keyed is None else keyed
    head = Head(
        lane=job.lane,
        keyed=keyed,
        taken=ROOMY if roomy else int(job.admitted),
        kin=bool(job.extras.parent_id) + FOLLOWS * bool(job.extras.after),
        # For how long it holds its key, until the script knows when that ends.
        finished=_stored_or_never(job.claim.within) if job.claim is not None and keyed == TIMED else NEVER,
        # Without a time of its own it is due after its delay, by the clock of the script.
        due=NEVER if job.at is None else _stored(job.at),
        rank=max(0.0, _stored(job.delay)),
        expires=_stored_or_never(job.expires),
        deadline=_stored_or_never(job.deadline),
        keep=_stored_or_never(job.keep),
        priority=job.priority,
        attempts=job.attempts,
        crash_budget=job.crash_budget,
        queue=job.queue,
        task=job.task,
        reply=job.reply or "",
        unique=job.unique or "",
        correlation=job.extras.correlation_id,
        tie=tie(job) if job.group is not None or job.needs else "",
    )
    return pack(head), write_card(job.codec, job.extras)


def _keyed(job: NewJob) -> int:
    claim = job.claim
    if job.unique is None:
        return 0
    if claim is None:
        return LIVELY
    if claim.within is not None:
        if not claim.within >= 0:
            raise ValueError("its unique key is to be held for less than no time")
        return TIMED
    return WAITING if claim.until_start else LIVELY


def _stored(seconds: float) -> float:
    value = millis(seconds)
    if abs(value) > _FURTHEST:
        raise ValueError("one of its times is too far away")
    return value


def _stored_or_never(seconds: float | None) -> float:
    return NEVER if seconds is None else _stored(seconds)
