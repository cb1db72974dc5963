"""One enqueued job, as its producer holds it: awaited for its value, asked about, cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from typing import Any, Generic, TypeVar

from msgspec import Struct

from noria import ids
from noria.app import checks
from noria.app.alter import altered
from noria.app.ending import DecodeResult, value_of
from noria.app.explain import explain, reasons_of
from noria.app.following import JobEvent, follow
from noria.app.link import Links
from noria.app.questionbook import QuestionBook
from noria.app.scene import Scene, look_around
from noria.app.seen import Eyes
from noria.app.status import JobStatus, StateWord, status_of
from noria.app.ties import check_same_group
from noria.app.uniqueness import duplicate
from noria.backends.contract import Change, Parts
from noria.clock import Clock
from noria.errors import InvalidInput, JobNotFound, QuestionNotFound
from noria.ids import Id
from noria.model.asked import QuestionStatus
from noria.model.claim import NEW, Enqueued
from noria.model.job import NewJob, Receipt, Record
from noria.model.question import Action
from noria.model.reason import Reason

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Job(Generic[T_co]):
    """A job in the backend. `await job` gives the value that its task returned.

    Every coroutine here raises `NotRunning` outside `async with app:`, `Unavailable` or `Unknown` if the
    backend does not answer, and `JobNotFound` if it holds no such job (any more).

    Attributes:
        enqueued: what the call that gave this object has done: "created": it stored the job; "existing": another job
            of the same id or unique key stands for it, or the job was only looked up; and, if a `Unique` says so,
            "replaced": it stored the job, and cancelled the one that had the key; "updated": this job waits, and has
            the arguments and the time of that call; "merged": this job waits, and has the items of its list as well.
    """

    __slots__ = ("_clock", "_decode", "_id", "_links", "enqueued")

    def __init__(
        self, id: Id, links: Links, clock: Clock, decode: DecodeResult, enqueued: Enqueued = "existing"
    ) -> None:
        self._id = id
        self._links = links
        self._clock = clock
        self._decode = decode
        self.enqueued: Enqueued = enqueued

    @property
    def created(self) -> bool:
        """Whether the call that gave this object stored the job: it was created, or has replaced another one."""
        return self.enqueued in NEW

    @property
    def id(self) -> str:
        """The job's id, a UUID as text."""
        return ids.to_text(self._id)

    def __await__(self) -> Generator[Any, None, T_co]:
        """Wait for the value, without a limit: as `result()`."""
        return self.result().__await__()

    async def result(self, timeout: float | None = None) -> T_co:
        """Wait until the job has ended, and return its value.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.

        Raises:
            JobFailed: it failed for good; the error tells the last exception as text.
            JobCancelled, JobExpired: it ended without a value.
            ResultGone: it succeeded, and its value is no longer kept.
            WaitTimeout: it had not ended in time; it goes on.
            InvalidResult: it succeeded, and its value is not of the type that the task declares.
            InvalidOption: `timeout` is no number of seconds.
        """
        seconds = checks.patience("timeout", timeout)
        ending = await self._links.here().outcomes.wait(self._id, seconds)
        value: T_co = value_of(ending, self._id, self._decode)
        return value

    async def status(self) -> JobStatus:
        """Read how the job stands, with the log of its starts."""
        return status_of(await self._read())

    async def explain(self) -> str:
        """Say in one line why the job is not running, or where it runs, or how it ended."""
        return explain(*await self._look())

    async def reasons(self) -> list[Reason]:
        """The same for programs: how the job stands, then why it does not run, the weightiest reason first."""
        return reasons_of(*await self._look())

    async def _look(self) -> tuple[Record, Scene]:
        record = await self._read()
        return record, await look_around(self._links.here().backend, record, self._clock.wall())

    async def cancel(self, reason: str = "") -> StateWord:
        """Cancel the job; one that runs is told through its worker. May be repeated.

        Returns:
            its state afterwards: "cancelled"; "running" if its worker has yet to end it; or the final state
            that it had reached before.
        """
        return await self._alter(Change(kind="cancel", note=checks.text("reason", reason)))

    async def retry(
        self,
        draft: Draft[Any] | None = None,
        *,
        delay: float = 0.0,
        attempts: int | None = None,
        note: str = "",
    ) -> StateWord:
        """Queue a failed, cancelled or expired job again, with fresh attempts and no time bounds.

        Args:
            draft: a draft of the same task, made with `task.job(...)`: run with its arguments instead. The old ones
                stay readable in `status().history`; nothing else of the draft is used.
            delay: seconds before it may run.
            attempts: how many it gets; None leaves their number as it is.
            note: why, for the record.

        Raises:
            WrongState: it has not ended, has succeeded, or another live job has its unique key.
            InvalidInput: the draft is of another task, or its arguments of another group.
            InvalidOption: an option is out of range.
        """
        given: dict[str, Any] = {}
        if draft is not None:
            record = await self._read()
            if draft.new.task != record.task:
                raise InvalidInput(
                    f"job {self.id} is of task {record.task!r}, and the draft of task {draft.new.task!r}",
                    field="draft",
                )
            check_same_group(record.id, record.group, draft.new)
            given = {"body": draft.new.body, "codec": draft.new.codec}
        note = checks.text("note", note)
        return await self._alter(Change(kind="retry", delay=delay, attempts=attempts, note=note, **given))

    async def discard(self) -> StateWord:
        """Keep the record of a failed job, but count it as a dead letter no more.

        Raises:
            WrongState: it has not failed.
        """
        return await self._alter(Change(kind="discard"))

    async def events(self, after: int = 0) -> AsyncIterator[JobEvent]:
        """Follow the job until it has ended: its states, its progress, and its partial results with their offsets.

        Args:
            after: the offset of the first item that is wanted; 0 gives all that are kept, also of the past.
        """
        async for event in follow(self._links.here(), self._id, checks.whole(0, 2**53)("after", after)):
            yield event

    async def question(self) -> QuestionStatus | None:
        """What the job asks just now; None if it does not ask."""
        question = await self._questions().of(await self._read())
        return None if question is None else await self._eyes().see(question)

    async def answer(self, data: Any = None, *, action: Action = "accept", by: str = "") -> QuestionStatus:
        """Answer what the job asks just now.

        Args:
            data: the answer, as JSON has it.
            action: "decline" to answer, or "cancel" the question without a choice; then there is no `data`.
            by: who answers, for people; at most 128 characters.

        Raises:
            QuestionNotFound: it asks nothing.
            InvalidAnswer: the answer does not fit; the question stays open.
            AlreadyAnswered, QuestionExpired, QuestionSuperseded, WrongState: it was open a moment ago.
        """
        record = await self._read()
        if not record.question:
            raise QuestionNotFound(f"job {self.id} asks nothing: it is {record.state.word}")
        return await self._eyes().see(await self._questions().answer(record.question, action, data, by=by))

    def _eyes(self) -> Eyes:
        return Eyes(self._links.here().backend, self._clock)

    def _questions(self) -> QuestionBook:
        return QuestionBook(self._links.here().backend, self._clock.wall)

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    async def _alter(self, change: Change) -> StateWord:
        [answer] = await self._links.here().backend.alter([self._id], change)
        return altered(self._id, change, answer)

    async def _read(self) -> Record:
        [record] = await self._links.here().backend.get([self._id], Parts.LOG)
        if record is None:
            raise JobNotFound(f"job {self.id} is not there: erased, pruned, or never enqueued here")
        return record


class Draft(Struct, Generic[T], frozen=True, eq=False, gc=False):
    """A job that is described, with its arguments checked and its id given, but not enqueued yet.

    Enqueueing the same draft again is safe: it is the same job.

    Attributes:
        new: the job to push.
        links, clock, decode: what the `Job` needs.
    """

    new: NewJob
    links: Links
    clock: Clock
    decode: DecodeResult

    @property
    def id(self) -> str:
        """The id that the job will have, a UUID as text."""
        return ids.to_text(self.new.id)

    def job(self, receipt: Receipt) -> Job[T]:
        """The job that the backend now holds for this draft.

        Raises:
            DuplicateJob: another one has its unique key, and that was to be an error.
        """
        assert receipt.status != "rejected", "that was raised"
        claim = self.new.claim
        if claim is not None and claim.on_conflict == "reject" and receipt.why == "unique":
            raise duplicate(self.new, receipt.id)
        return Job(receipt.id, self.links, self.clock, self.decode, receipt.status)
