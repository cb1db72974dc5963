"""What an application enqueued in a test, to make assertions about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from noria import ids
from noria.backends.contract import DocWrite, Verdict
from noria.clock import utc
from noria.ids import SessionId
from noria.model.claim import NEW
from noria.model.job import NewJob, Receipt
from noria.model.settlement import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """One call that enqueued a job.

    Attributes:
        job_id: the job's id, a UUID as text; of a follow-up the one that it was to have.
        task, queue: their names.
        arguments: by name, as the task takes them, with the function's own defaults; none of a job that is given the
            values of others when it starts.
        created: whether it was stored; False if a job with the same unique key, or the same id, stands for it.
        how: what was done, as `Job.enqueued` says it.
        due: when it may run, in UTC: now, unless it was delayed.
        delay: seconds until then.
        priority, unique, tags, correlation_id: as enqueued; `unique` is None if there is none.
    """

    job_id: str
    task: str
    queue: str
    arguments: dict[str, Any]
    created: bool
    how: str
    due: datetime
    delay: float
    priority: int
    unique: str | None
    tags: tuple[str, ...]
    correlation_id: str


class Witness:
    """The backend of an application, whose pushes it writes down; it keeps the contract otherwise.

    Args:
        inner: the backend.
        read: a job's arguments by name: (task, body, codec).
        wall: the time.
        seen: what is written down; one list for several of them.
    """

    def __init__(
        self,
        inner: Any,
        read: Callable[[str, bytes, str], dict[str, Any]],
        wall: Callable[[], float],
        seen: list[Enqueued] | None = None,
    ) -> None:
        self._inner = inner
        self._read = read
        self._wall = wall
        self.seen: list[Enqueued] = [] if seen is None else seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def push(self, jobs: Sequence[NewJob], docs: Sequence[DocWrite] = ()) -> list[Receipt]:
        """As the backend."""
        receipts: list[Receipt] = await self._inner.push(jobs, docs)
        for job, receipt in zip(jobs, receipts, strict=True):
            if receipt.status != "rejected":
                self.seen.append(self._told(job, receipt))
        return receipts

    async def settle(self, session: SessionId, ends: Sequence[Settlement]) -> list[Verdict]:
        """As the backend; follow-ups are enqueued too."""
        verdicts: list[Verdict] = await self._inner.settle(session, ends)
        for end, verdict in zip(ends, verdicts, strict=True):
            if end.follow_ups and verdict is Verdict.OK:
                found = await self._inner.get([job.id for job in end.follow_ups])
                for job, record in zip(end.follow_ups, found, strict=True):
                    self.seen.append(self._told(job, Receipt("created" if record else "existing", job.id)))
        return verdicts

    def _told(self, job: NewJob, receipt: Receipt) -> Enqueued:
        now = self._wall()
        due = now + job.delay if job.at is None else max(now, job.at)
        return Enqueued(
            job_id=ids.to_text(receipt.id),
            task=job.task,
            queue=job.queue,
            arguments={} if job.extras.feed else self._read(job.task, job.body, job.codec),
            created=receipt.status in NEW,
            how=receipt.status,
            due=utc(due),
            delay=due - now,
            priority=job.priority,
            unique=job.unique,
            tags=job.extras.tags,
            correlation_id=job.extras.correlation_id,
        )
