"""What a handler may know about the job that it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

from noria import ids
from noria.clock import utc
from noria.errors import NoriaError
from noria.model.job import Lease, NewJob
from noria.worker.follow import Describes, FollowUps, Pending

P = ParamSpec("P")
R = TypeVar("R")


class Stopped(NoriaError):
    """Raised by `Context.check` in a handler that should end: its job was cancelled, timed out or lost."""


class Context:
    """The running job, as its handler sees it.

    A task asks for it by annotating its first parameter with `Context`.

    Attributes:
        state: what the application's lifespan yielded; None if it has none. A job in a process cannot use it.
    """

    __slots__ = ("_follow_ups", "_lease", "_stop", "_wall", "state")

    def __init__(self, lease: Lease, state: Any, wall: Callable[[], float]) -> None:
        self._lease = lease
        self._follow_ups = FollowUps(lease)
        self._stop = threading.Event()
        self._wall = wall
        self.state = state

    @property
    def job_id(self) -> str:
        """The job's id, a UUID as text."""
        return ids.to_text(self._lease.id)

    @property
    def task(self) -> str:
        """The name of the task."""
        return self._lease.task

    @property
    def queue(self) -> str:
        """The queue from which the job was leased."""
        return self._lease.queue

    @property
    def attempt(self) -> int:
        """Which counted attempt this is, from 1."""
        return self._lease.tally.spent + 1

    @property
    def attempts(self) -> int:
        """How many attempts the job has."""
        return self._lease.tally.attempts

    @property
    def starts(self) -> int:
        """How often the job was leased, this time included; with the id it names this run and no other."""
        return self._lease.starts

    @property
    def crashes(self) -> int:
        """How often a process died while it ran this job."""
        return self._lease.tally.crashes

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the job was enqueued with."""
        return self._lease.extras.tags

    @property
    def correlation_id(self) -> str:
        """The correlation id that the job was enqueued with; empty if it has none."""
        return self._lease.extras.correlation_id

    @property
    def schedule(self) -> str:
        """The name of the timer that enqueued the job; empty if none did."""
        return self._lease.extras.schedule

    @property
    def slot(self) -> datetime | None:
        """The time for which a timer enqueued the job, in UTC; None if none did."""
        return None if self._lease.extras.slot is None else utc(self._lease.extras.slot)

    @property
    def enqueued_at(self) -> datetime:
        """When the job was enqueued, in UTC."""
        return utc(self._lease.created)

    @property
    def deadline(self) -> datetime | None:
        """When the job must have ended, in UTC; None if it has no deadline."""
        return None if self._lease.deadline is None else utc(self._lease.deadline)

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, never below 0; None if the job has no deadline."""
        return None if self._lease.deadline is None else max(0.0, self._lease.deadline - self._wall())

    @property
    def parent_id(self) -> str:
        """The id of the job whose follow-up this one is, a UUID as text; empty if it is none."""
        return ids.of_hex(self._lease.extras.parent_id)

    def enqueue(self, task: Describes[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Pending[R]:
        """Enqueue a follow-up of this job, in the same step in which its success is recorded. Not a coroutine.

        A job that is tried again never doubles its follow-ups, and one that does not succeed leaves none. If another
        job has the unique key of a follow-up then, that job stands for it, and is listed beside the children.

        Args:
            task: a task, or `task.options(...)`.
            args, kwargs: its arguments. Its deadline is at most that of this job.

        Raises:
            InvalidArguments, TooLarge: as `task.enqueue`; also if all follow-ups of the job have over 2 MiB.
            InvalidInput: the job has 1,000 follow-ups already.
            InvalidOption: its `unique` would change another job: a follow-up cannot replace, update or merge.
            NotRunning: the handler has ended.
        """
        new = self._follow_ups.add(task.job(*args, **kwargs).new)
        return Pending(ids.to_text(new.id), new.task)

    def take_follow_ups(self) -> tuple[NewJob, ...]:
        """What goes along with the success; for the worker. From now on no more can be enqueued."""
        return self._follow_ups.take()

    @property
    def stopping(self) -> bool:
        """Whether the handler should end: its job was cancelled, timed out, or is no longer its own."""
        return self._stop.is_set()

    def check(self) -> None:
        """For handlers in threads, which nothing can interrupt, and in processes: end here if the job should end.

        Raises:
            Stopped: the job was cancelled, has timed out, or is no longer this worker's.
        """
        if self._stop.is_set():
            raise Stopped(f"job {self.job_id} should end")

    def stop(self) -> None:
        """Ask the handler to end; for the worker."""
        self._stop.set()
