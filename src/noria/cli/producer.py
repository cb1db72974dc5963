"""What enqueues for a command: an application that has the task's code, or a front that knows the task."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Raw

from noria.model.claim import NEW, Enqueued
from noria.model.job import Record
from noria.model.task import Arguments

D = TypeVar("D")


class Stored(NamedTuple):
    """What became of one job to enqueue.

    Attributes:
        id: of the job that stands for it; empty if it was refused.
        enqueued: what was done, as `Job.enqueued` says it.
        why: it was refused.
    """

    id: str
    enqueued: Enqueued = "created"
    why: str = ""

    @property
    def created(self) -> bool:
        """Whether it was stored."""
        return self.enqueued in NEW


class Emitted(NamedTuple):
    """A partial result of a job, as JSON has it, and its place among them."""

    offset: int
    item: Raw


class Missed(NamedTuple):
    """Partial results were dropped before they could be read. `offset`: of the first behind them."""

    offset: int


class Producer(Protocol[D]):
    """Enqueues jobs of one task. `D` is a job that is described, with an id that a repetition keeps."""

    def named(self, words: Sequence[str]) -> Arguments:
        """Arguments from `name=value` words, read as the task's types.

        Raises:
            InvalidArguments: they do not fit.
        """
        ...

    def draft(self, given: Arguments) -> D:
        """A job with these arguments.

        Raises:
            InvalidInput: they do not fit, as far as can be seen from here.
        """
        ...

    def id_of(self, draft: D) -> str:
        """The id by which a job whose enqueueing is uncertain can be looked for; empty if that cannot be known."""
        ...

    async def enqueue(self, drafts: Sequence[D]) -> list[Stored]:
        """Store them; what became of each, in order. At most 1,000."""
        ...

    async def enqueue_one(self, draft: D, wait: float | None) -> Stored:
        """Store one, which will be waited for so long; what is wrong with it is raised."""
        ...

    async def value(self, id: str, seconds: float) -> Raw:
        """The value of a job that was just enqueued, as JSON.

        Raises:
            JobError: it ended without one.
            WaitTimeout: it has not ended in time.
            ResultGone: nothing of it is kept.
        """
        ...

    def events(self, id: str) -> AsyncGenerator[Record | Emitted | Missed, None]:
        """A job as it stands, and anew whenever it is seen to have changed, until it has ended or is gone; and what it
        emits.

        Changes that follow one another within a second may be seen as one; partial results are all told, in order.
        While the front or the backend is away for a moment, this waits, and goes on where it was.
        """
        ...
