"""Follow-ups: jobs that a handler asks for, and that are enqueued together with its success, or never."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any, Final, Generic, NoReturn, ParamSpec, Protocol, TypeVar

from msgspec.structs import replace

from noria import ids
from noria.errors import InvalidInput, InvalidOption, NotRunning, NotYetEnqueued, TooLarge, shown
from noria.model.job import Lease, NewJob, Receipt
from noria.model.limits import MAX_FOLLOW_UP_BYTES, MAX_FOLLOW_UPS

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Promises(Protocol[R_co]):
    """A job, as far as it says the type of its value."""

    async def result(self, timeout: float | None = None) -> R_co:
        """Wait for the value."""
        ...


class Described(Protocol[R_co]):
    """A job that is described, and not enqueued yet."""

    @property
    def new(self) -> NewJob:
        """The job."""
        ...

    def job(self, receipt: Receipt) -> Promises[R_co]:
        """The job that it becomes."""
        ...


class Describes(Protocol[P, R_co]):
    """A task, or a task with options."""

    def job(self, *args: P.args, **kwargs: P.kwargs) -> Described[R_co]:
        """Describe a job with these arguments."""
        ...


def check_task(given: object) -> None:
    """See that what is to be enqueued can describe a job, and is not one that is described already.

    Raises:
        InvalidInput: it is a name, a bare function, a draft, or anything else.
    """
    if hasattr(given, "new") or not callable(getattr(given, "job", None)):
        raise InvalidInput(
            f"{shown(given)} is no task: ctx.enqueue takes a task, or task.options(...), and then its arguments",
            field="task",
        )


class Pending(Generic[R_co]):
    """A follow-up that is not enqueued yet: it will be, together with the success of the job that asked for it.

    If that job fails, is tried again, is cancelled or lost, nothing is enqueued.

    Attributes:
        id: the id that it will have, a UUID as text, unless another job holds its unique key then.
        task: the name of its task.
    """

    __slots__ = ("id", "task")

    def __init__(self, id: str, task: str) -> None:
        self.id = id
        self.task = task

    def __await__(self) -> Generator[Any, None, R_co]:
        """Always raises `NotYetEnqueued`: what starts when a job has succeeded cannot be awaited inside it."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotYetEnqueued(
            f"job {self.id} of task {self.task!r} is a follow-up: it is enqueued when this job has succeeded, so it "
            "cannot be awaited inside it. Do not await ctx.enqueue; to enqueue at once and wait, await task.enqueue"
        )

    def __repr__(self) -> str:
        return f"<Pending {self.task} {self.id}>"


_WORDS: Final = {"replace": "replace", "keep_last": "update", "merge": "be merged into"}
"""What a claim would do to another job."""


class FollowUps:
    """The follow-ups of one start, as its handler asks for them; from any thread."""

    __slots__ = ("_bytes", "_jobs", "_lease", "_lock", "_over")

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._lock = threading.Lock()
        self._jobs: list[NewJob] = []
        self._bytes = 0
        self._over = False

    def add(self, new: NewJob) -> NewJob:
        """Keep a job for the outcome; returns it as it will be enqueued.

        Raises:
            InvalidInput: there are too many.
            InvalidOption: it would change the job that has its unique key.
            TooLarge: they have too many bytes.
            NotRunning: the start has ended, and nothing can go along with its outcome any more.
        """
        if new.claim is not None and new.claim.changes:
            raise InvalidOption(
                f"a follow-up cannot {_WORDS[new.claim.on_conflict]} the job that has its unique key: await "
                "task.enqueue(...), or give it another `unique`",
                field="unique",
            )
        job = self._adopted(new)
        with self._lock:
            if self._over:
                raise NotRunning(
                    f"{self._name} has ended; ctx.enqueue belongs to its handler while that runs"
                )
            if len(self._jobs) >= MAX_FOLLOW_UPS:
                raise InvalidInput(
                    f"{self._name} has {MAX_FOLLOW_UPS:,} follow-ups, and no more are stored with one outcome: enqueue "
                    "a job that enqueues the rest, or use app.enqueue_many"
                )
            if self._bytes + len(job.body) > MAX_FOLLOW_UP_BYTES:
                raise TooLarge(
                    f"the arguments of the follow-ups of {self._name} have more than {MAX_FOLLOW_UP_BYTES:,} bytes: "
                    "store large data elsewhere, or use app.enqueue_many"
                )
            self._jobs.append(job)
            self._bytes += len(job.body)
        return job

    def take(self) -> tuple[NewJob, ...]:
        """All of them; from now on no more are taken."""
        with self._lock:
            self._over = True
            return tuple(self._jobs)

    @property
    def _name(self) -> str:
        return f"job {ids.to_text(self._lease.id)} of task {self._lease.task!r}"

    def _adopted(self, new: NewJob) -> NewJob:
        lease = self._lease
        parent = lease.id.hex()
        extras = replace(new.extras, parent_id=parent, root_id=lease.extras.root_id or parent)
        ends = [each for each in (new.deadline, lease.deadline) if each is not None]
        return replace(new, extras=extras, deadline=min(ends, default=None), admitted=True)
